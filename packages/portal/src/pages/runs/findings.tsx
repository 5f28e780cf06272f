import type { ResponseBody } from '../../api/call.ts';
import { Actor } from '../../components/actor.tsx';
import { Panel } from '../../components/panel.tsx';
import { DataTable } from '../../lists/data-table.tsx';

/** The server returns at most this many findings. */
const FINDINGS_MAX = 200;

/** Scores of single answers of a run. They are not shown as evaluations, because a score of one answer is not a pass rate. */
export function Findings({ findings }: { findings: ResponseBody<'runs.trace'>['findings'] }) {
  if (findings.length === 0) return null;
  return (
    <Panel
      title="Findings"
      note={`Scores of single answers. They are not evaluations and do not affect decisions.${
        findings.length < FINDINGS_MAX ? '' : ` Only the first ${FINDINGS_MAX} findings are listed.`
      }`}
      flush
    >
      <DataTable
        label="Findings"
        items={findings.map((finding, index) => ({ ...finding, index }))}
        keyOf={({ index }) => String(index)}
        columns={[
          { title: 'Name', cell: ({ name }) => name },
          { title: 'Score', numeric: true, cell: ({ score }) => score ?? '–' },
          { title: 'Label', cell: ({ label }) => label ?? '–' },
          { title: 'Explanation', wide: true, cell: ({ explanation }) => explanation ?? '–' },
          { title: 'Sent by', cell: ({ recorded_by }) => <Actor by={recorded_by} /> },
        ]}
      />
    </Panel>
  );
}

import { Link } from '@tanstack/react-router';
import type { ResponseBody } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { Actor } from '../../components/actor.tsx';
import { Panel } from '../../components/panel.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { DataTable } from '../../lists/data-table.tsx';

type Detail = ResponseBody<'approvals.read'>;

const LABELS: Record<Detail['changes'][number]['what'], string> = {
  pass_rate: 'Pass rate (%)',
  status: 'Status',
  artifact: 'Artifact',
  suite: 'Suite',
  suite_version: 'Suite version',
  suite_digest: 'Suite digest',
  completeness: 'Completeness',
  cases: 'Number of cases',
  case_outcomes: 'Cases by outcome',
  blocking_failures: 'Blocking failures',
  max_severity: 'Highest severity',
  severity_threshold: 'Severity threshold',
  name: 'Evaluation name',
  harness_id: 'Harness',
  category: 'Category',
  recorded_by: 'Recorded by',
  models: 'Models used',
};

function Value({ what, value }: { what: Detail['changes'][number]['what']; value: string | null }) {
  if (value === null) return <span className="faint">–</span>;
  return what === 'recorded_by' ? <Actor by={value} /> : <span className="break">{value}</span>;
}

/** The labels of the compared facts, separated by commas. The models count as compared only if all of them were read. */
const listComparedFacts = (hasReadAllModels: boolean): string => {
  const { models, ...others } = LABELS;
  return [...Object.values(others), ...(hasReadAllModels ? [models] : [])].join(', ').toLowerCase();
};

/** The differences between this evaluation and the agent's last approved evaluation before it. */
export function Changes({ detail: { changes, last_approved: last, runs } }: { detail: Detail }) {
  const { workspace } = useWorkspace();
  if (last === null) {
    return (
      <Panel title="Changes">
        <p className="soft">No earlier evaluation of this agent is approved, so there is nothing to compare.</p>
      </Panel>
    );
  }
  const hasReadAllModels = runs.models_complete && last.runs.models_complete;
  return (
    <Panel
      title="Changes since the last approved evaluation"
      note={
        <>
          <Link to="/w/$workspace/evaluations/$evaluation" params={{ workspace: workspace.id, evaluation: last.evaluation.id }}>
            {last.evaluation.name}
          </Link>
          , recorded <RelativeTime at={last.evaluation.recorded_at} />, approved by <Actor by={last.approval.decided_by} />.
          {!hasReadAllModels && ' Models are read from the latest runs only, so other models may have been used.'}
        </>
      }
      flush={changes.length > 0}
    >
      {changes.length === 0 ? (
        <p className="soft">Compared: {listComparedFacts(hasReadAllModels)}. None of these changed.</p>
      ) : (
        <DataTable
          label="Changes"
          items={changes}
          keyOf={({ what }) => what}
          columns={[
            { title: 'Property', cell: ({ what }) => <strong className="nowrap">{LABELS[what]}</strong> },
            { title: 'Before', wide: true, cell: ({ what, before }) => <Value what={what} value={before} /> },
            { title: 'Now', wide: true, cell: ({ what, now }) => <Value what={what} value={now} /> },
            {
              title: 'Difference',
              numeric: true,
              cell: ({ difference }) =>
                difference === null ? '' : `${difference > 0 ? '+' : ''}${Number(difference.toFixed(6))}`,
            },
          ]}
        />
      )}
    </Panel>
  );
}

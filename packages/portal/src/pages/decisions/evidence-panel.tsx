import type { EvidenceDocument } from '@countersign/core/domain/evidence-document';
import { readEvidence } from '@countersign/core/domain/evidence-verifier';
import { visibleSpaces } from '@countersign/core/domain/visible-spaces';
import { Notice } from '../../components/notice.tsx';
import { formatCountOf, formatPercent } from '../../components/number-format.ts';
import { Panel } from '../../components/panel.tsx';
import { PropertyList } from '../../components/property-list.tsx';
import { ExactTime } from '../../components/relative-time.tsx';

/**
 * A panel with the evidence that the verdict was computed from. It omits the status and pass rate of the evaluation, which the panel
 * Inputs shows.
 */
export function EvidencePanel({ text }: { text: string }) {
  const parsed = readEvidence(text);
  return (
    <Panel title="Evidence" note="The data that the decision was computed from. The signature covers the SHA-256 of this data.">
      {'fault' in parsed ? (
        <Notice kind="problem">
          <p>This evidence cannot be read: {parsed.fault}.</p>
        </Notice>
      ) : (
        <PropertyList facts={propertiesOf(parsed.value)} />
      )}
    </Panel>
  );
}

const propertiesOf = ({
  agent,
  approval,
  asked,
  evaluation,
  ...evidence
}: EvidenceDocument): Parameters<typeof PropertyList>[0]['facts'] => [
  ['Read at', <ExactTime key="read" at={evidence.read_at} />],
  ['Requested agent', visibleSpaces(asked.agent_name ?? asked.agent_id ?? '–')],
  ['Required pass rate', formatPercent(asked.min_pass_rate)],
  ['Maximum age', formatCountOf(asked.max_age_hours, 'hour', 'hours')],
  ['Harness', asked.harness_id ?? 'any'],
  ['Risk level', agent?.risk_level ?? 'unknown'],
  ['Evaluation recorded', evaluation === null ? 'none' : <ExactTime key="recorded" at={evaluation.recorded_at} />],
  ['Evaluated', evaluation?.evaluated_at == null ? undefined : <ExactTime key="run" at={evaluation.evaluated_at} />],
  ['Approval', approval === null ? 'none' : approval.status],
  ['Approval decided', approval?.decided_at == null ? undefined : <ExactTime key="decided" at={approval.decided_at} />],
  ['Open re-certifications', String(evidence.open_recertifications)],
  ['Other suites', evidence.other_evaluations.length === 0 ? undefined : evidence.other_evaluations.map(formatSuite).join('; ')],
  ['Similar names', evidence.similar_names.length === 0 ? undefined : evidence.similar_names.join(', ')],
];

const formatSuite = ({ name, suite, status, pass_rate: rate }: EvidenceDocument['other_evaluations'][number]): string =>
  `${name}${suite === null ? '' : ` (${suite})`}: ${status}${rate === null ? '' : `, ${formatPercent(rate)}`}`;

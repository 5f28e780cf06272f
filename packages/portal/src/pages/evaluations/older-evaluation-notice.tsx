import { Notice } from '../../components/notice.tsx';

/** A notice on the page of an evaluation that is not the latest of its agent. It says which promotion checks can use the evaluation. */
export const OlderEvaluationNotice = ({ kind, harness }: { kind: 'warning' | 'quiet'; harness: string | null }) => (
  <Notice kind={kind}>
    <p>
      {harness === null
        ? 'This agent has a newer evaluation, and this evaluation names no harness. So no promotion check can use this evaluation any more.'
        : 'This agent has a newer evaluation. A promotion check uses this evaluation only if the check names the same harness, ' +
          'and if the harness has no newer evaluation.'}
    </p>
  </Notice>
);

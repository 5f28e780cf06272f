import { Notice } from '../../components/notice.tsx';

/** A notice on an evaluation that is not the latest one of its agent. It says which promotion checks can still use the evaluation. */
export const OlderEvaluation = ({ kind, harness }: { kind: 'warning' | 'quiet'; harness: string | null }) => (
  <Notice kind={kind}>
    <p>
      {harness === null
        ? 'This evaluation names no harness and there is a newer one, so no promotion check can use it any more.'
        : 'Promotion checks use a newer evaluation of this agent. Only checks that name the harness of this evaluation can still use it, ' +
          'unless the same harness has a newer evaluation.'}
    </p>
  </Notice>
);

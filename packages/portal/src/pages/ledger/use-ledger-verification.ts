import { useEffect, useRef, useState } from 'react';
import { call, urlOf } from '../../api/call.ts';
import type { VerificationMessage, VerificationRequest, VerificationResult } from '../../proof/verification-messages.ts';

/** The state of a ledger verification. */
export type VerificationState =
  | { kind: 'idle' }
  | { kind: 'running'; checkedCount: number; entryCount: number }
  | { kind: 'canceled'; checkedCount: number }
  | { kind: 'error'; problem: unknown }
  | { kind: 'finished'; verdict: VerificationResult };

/** Verifies a workspace's ledger in a worker. Leaving the page cancels the verification. */
export function useLedgerVerification(workspace: string): { state: VerificationState; start: () => void; cancel: () => void } {
  const [state, setState] = useState<VerificationState>({ kind: 'idle' });
  const worker = useRef<Worker>(undefined);
  const terminateWorker = () => {
    worker.current?.terminate();
    worker.current = undefined;
  };
  useEffect(() => () => worker.current?.terminate(), []);
  const run = async (current: Worker) => {
    setState({ kind: 'running', checkedCount: 0, entryCount: 0 });
    const params = { workspace };
    const { tenant_id, seq } = await call('ledger.head', { params });
    // If the verification was canceled or restarted while the head was loading, it ends here.
    if (worker.current !== current) return;
    setState({ kind: 'running', checkedCount: 0, entryCount: seq });
    current.addEventListener('message', ({ data: message }: MessageEvent<VerificationMessage>) => {
      if (message.kind === 'progress') setState({ kind: 'running', checkedCount: message.checkedCount, entryCount: seq });
      else {
        terminateWorker();
        setState({ kind: 'finished', verdict: message });
      }
    });
    current.addEventListener('error', () => {
      terminateWorker();
      setState({ kind: 'finished', verdict: { kind: 'failed', reason: 'the verifier could not be loaded' } });
    });
    const request: VerificationRequest = {
      exportUrl: urlOf('ledger.export', { params }),
      checkpointUrl: urlOf('logs.checkpoint', { params: { ...params, log: 'audit' } }),
      tenantId: tenant_id,
      entryCount: seq,
    };
    current.postMessage(request);
  };
  return {
    state,
    start: () => {
      terminateWorker();
      const current = new Worker(new URL('../../proof/verification-worker.ts', import.meta.url), { type: 'module' });
      worker.current = current;
      void run(current).catch((problem: unknown) => {
        if (worker.current !== current) return;
        terminateWorker();
        setState({ kind: 'error', problem });
      });
    },
    cancel: () => {
      terminateWorker();
      setState({ kind: 'canceled', checkedCount: state.kind === 'running' ? state.checkedCount : 0 });
    },
  };
}

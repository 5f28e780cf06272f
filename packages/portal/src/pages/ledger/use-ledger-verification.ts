import { useEffect, useRef, useState } from 'react';
import { call, urlOf } from '../../api/call.ts';
import type { VerificationMessage, VerificationRequest, VerificationResult } from '../../proof/verification-messages.ts';

/** How far the verification of a ledger is. */
export type VerificationState =
  | { kind: 'idle' }
  | { kind: 'running'; checked: number; entries: number }
  | { kind: 'cancelled'; checked: number }
  | { kind: 'refused'; problem: unknown }
  | { kind: 'ended'; verdict: VerificationResult };

/** Verifies a workspace's ledger in a worker; leaving the page ends it. */
export function useLedgerVerification(workspace: string): { state: VerificationState; start: () => void; cancel: () => void } {
  const [state, setState] = useState<VerificationState>({ kind: 'idle' });
  const worker = useRef<Worker>(undefined);
  const end = () => {
    worker.current?.terminate();
    worker.current = undefined;
  };
  useEffect(() => () => worker.current?.terminate(), []);
  const run = async () => {
    end();
    const mine = new Worker(new URL('../../proof/verification-worker.ts', import.meta.url), { type: 'module' });
    worker.current = mine;
    setState({ kind: 'running', checked: 0, entries: 0 });
    const params = { workspace };
    const { tenant_id, seq } = await call('ledger.head', { params });
    // Cancelled, or begun anew, while the head was asked for.
    if (worker.current !== mine) return;
    setState({ kind: 'running', checked: 0, entries: seq });
    mine.addEventListener('message', ({ data: news }: MessageEvent<VerificationMessage>) => {
      if (news.kind === 'progress') setState({ kind: 'running', checked: news.checked, entries: seq });
      else {
        end();
        setState({ kind: 'ended', verdict: news });
      }
    });
    mine.addEventListener('error', () => {
      end();
      setState({ kind: 'ended', verdict: { kind: 'failed', reason: 'the verifier itself could not be loaded' } });
    });
    const order: VerificationRequest = {
      exportAddress: urlOf('ledger.export', { params }),
      checkpointAddress: urlOf('logs.checkpoint', { params: { ...params, log: 'audit' } }),
      tenantId: tenant_id,
      entries: seq,
    };
    mine.postMessage(order);
  };
  return {
    state,
    start: () =>
      void run().catch((problem: unknown) => {
        end();
        setState({ kind: 'refused', problem });
      }),
    cancel: () => {
      end();
      setState({ kind: 'cancelled', checked: state.kind === 'running' ? state.checked : 0 });
    },
  };
}

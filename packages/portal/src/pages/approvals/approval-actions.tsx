import { Button } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call, type ResponseBody } from '../../api/call.ts';
import { useHasRole, useWorkspace } from '../../api/session.ts';
import { RationaleDialog } from '../../forms/rationale-dialog.tsx';
import { toast } from '../../toasts/toasts.tsx';

type Act = 'approve' | 'reject' | 'withdraw';

const ACTS = {
  approve: {
    title: 'Approve this evaluation',
    submit: 'Approve',
    done: 'Approved. The next promotion check may rest on it.',
    note: 'The agent may be promoted on this evaluation, and on no other.',
  },
  reject: {
    title: 'Reject this evaluation',
    submit: 'Reject',
    done: 'Rejected. No promotion will rest on it.',
    note: 'A rejection is final: this evaluation can never be approved afterwards.',
  },
  withdraw: {
    title: 'Withdraw the approval',
    submit: 'Withdraw',
    done: 'Withdrawn. The evaluation waits again.',
    note: 'No promotion rests on it yet; it will wait for a decision again.',
  },
} as const;

const ROUTES = { approve: 'approvals.approve', reject: 'approvals.reject', withdraw: 'approvals.withdraw' } as const;

/** What an approver may do with the evaluation as it stands. */
export function ApprovalActions({ detail: { may, evaluation } }: { detail: ResponseBody<'approvals.read'> }) {
  const { workspace } = useWorkspace();
  const queries = useQueryClient();
  const [asking, setAsking] = useState<Act>();
  const [last, setLast] = useState<Act>('approve');
  if (!useHasRole('approver')) return null;
  const ask = (act: Act) => {
    setLast(act);
    setAsking(act);
  };
  const perform = async (rationale: string) => {
    await call(ROUTES[last], { params: { workspace: workspace.id, evaluation: evaluation.id }, body: { rationale } });
    toast.done(ACTS[last].done);
    await queries.invalidateQueries();
  };
  return (
    <>
      {may.withdraw && (
        <Button variant="default" onClick={() => ask('withdraw')}>
          Withdraw
        </Button>
      )}
      {may.reject && (
        <Button variant="default" onClick={() => ask('reject')}>
          Reject
        </Button>
      )}
      {may.approve && <Button onClick={() => ask('approve')}>Approve</Button>}
      <RationaleDialog
        key={last}
        opened={asking !== undefined}
        onClose={() => setAsking(undefined)}
        title={ACTS[last].title}
        submit={ACTS[last].submit}
        danger={last === 'reject'}
        act={perform}
      >
        <p className="soft">{ACTS[last].note}</p>
      </RationaleDialog>
    </>
  );
}

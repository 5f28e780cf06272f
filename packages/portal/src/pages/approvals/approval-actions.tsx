import { Button } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call, type ResponseBody } from '../../api/call.ts';
import { useHasRole, useWorkspace } from '../../api/session.ts';
import { RationaleDialog } from '../../forms/rationale-dialog.tsx';
import { toast } from '../../toasts/toasts.tsx';

type Action = 'approve' | 'reject' | 'withdraw';

const ACTIONS = {
  approve: {
    title: 'Approve evaluation',
    submit: 'Approve',
    done: 'Approved. The next promotion check can use this evaluation.',
    note: 'This allows promotion based on this evaluation only.',
  },
  reject: {
    title: 'Reject evaluation',
    submit: 'Reject',
    done: 'Rejected. Promotion checks will not use this evaluation.',
    note: 'A rejection is final. This evaluation can never be approved.',
  },
  withdraw: {
    title: 'Withdraw approval',
    submit: 'Withdraw',
    done: 'Approval withdrawn. The evaluation is pending again.',
    note: 'No promotion has used this approval yet. The evaluation will be pending again.',
  },
} as const;

const ROUTES = { approve: 'approvals.approve', reject: 'approvals.reject', withdraw: 'approvals.withdraw' } as const;

/** The actions of an approver on an evaluation. */
export function ApprovalActions({ detail: { may, evaluation } }: { detail: ResponseBody<'approvals.read'> }) {
  const { workspace } = useWorkspace();
  const queries = useQueryClient();
  const [openDialog, setOpenDialog] = useState<Action>();
  const [last, setLast] = useState<Action>('approve');
  if (!useHasRole('approver')) return null;
  const ask = (action: Action) => {
    setLast(action);
    setOpenDialog(action);
  };
  const perform = async (rationale: string) => {
    await call(ROUTES[last], { params: { workspace: workspace.id, evaluation: evaluation.id }, body: { rationale } });
    toast.done(ACTIONS[last].done);
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
        opened={openDialog !== undefined}
        onClose={() => setOpenDialog(undefined)}
        title={ACTIONS[last].title}
        submit={ACTIONS[last].submit}
        danger={last === 'reject'}
        action={perform}
      >
        <p className="soft">{ACTIONS[last].note}</p>
      </RationaleDialog>
    </>
  );
}

import { visibleSpaces } from '@countersign/core/domain/visible-spaces';
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
    title: 'Approve',
    submit: 'Approve',
    done: 'Approved. The approval applies to promotion checks that use this evaluation.',
    note: 'The approval applies to this evaluation only. A newer evaluation needs its own approval.',
  },
  reject: {
    title: 'Reject',
    submit: 'Reject',
    done: 'Rejected. While the agent is high risk, it cannot be promoted with this evaluation.',
    note: 'A rejection is final. A rejected evaluation can never be approved.',
  },
  withdraw: {
    title: 'Withdraw the approval of',
    submit: 'Withdraw',
    done: 'Approval withdrawn. The evaluation is pending again.',
    note: 'No decision has allowed a promotion with this approval yet. After the withdrawal, the evaluation is pending again.',
  },
} as const;

const ROUTES = { approve: 'approvals.approve', reject: 'approvals.reject', withdraw: 'approvals.withdraw' } as const;

/** The buttons for the possible actions (approve, reject, withdraw), and their dialog. Only approvers and admins see the buttons. */
export function ApprovalActions({ detail: { may, evaluation, agent, seen } }: { detail: ResponseBody<'approvals.read'> }) {
  const { workspace } = useWorkspace();
  const queries = useQueryClient();
  const [isOpen, setIsOpen] = useState(false);
  // `seen` is the digest of what the page showed when the dialog was opened. The page behind the dialog can be updated meanwhile.
  const [dialog, setDialog] = useState<{ action: Action; seen: string }>({ action: 'approve', seen });
  const { action } = dialog;
  if (!useHasRole('approver')) return null;
  const openDialog = (chosen: Action) => {
    setDialog({ action: chosen, seen });
    setIsOpen(true);
  };
  const perform = async (rationale: string) => {
    const params = { workspace: workspace.id, evaluation: evaluation.id };
    await call(ROUTES[action], { params, body: { rationale, seen: dialog.seen } });
    toast.done(ACTIONS[action].done);
    await queries.invalidateQueries();
  };
  return (
    <>
      {may.withdraw && (
        <Button variant="default" onClick={() => openDialog('withdraw')}>
          Withdraw
        </Button>
      )}
      {may.reject && (
        <Button variant="default" onClick={() => openDialog('reject')}>
          Reject
        </Button>
      )}
      {may.approve && <Button onClick={() => openDialog('approve')}>Approve</Button>}
      <RationaleDialog
        key={action}
        opened={isOpen}
        onClose={() => setIsOpen(false)}
        title={
          <>
            {ACTIONS[action].title} <bdi>{evaluation.name}</bdi> (agent <bdi>{visibleSpaces(agent.name)}</bdi>)
          </>
        }
        submit={ACTIONS[action].submit}
        danger={action === 'reject'}
        action={perform}
      >
        <p className="soft">{ACTIONS[action].note}</p>
      </RationaleDialog>
    </>
  );
}

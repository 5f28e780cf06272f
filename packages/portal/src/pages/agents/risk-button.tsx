import { visibleSpaces } from '@countersign/core/domain/visible-spaces';
import { Button } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call, type ResponseBody } from '../../api/call.ts';
import { useHasRole, useWorkspace } from '../../api/session.ts';
import { RationaleDialog } from '../../forms/rationale-dialog.tsx';
import { toast } from '../../toasts/toasts.tsx';

/** A button that sets the risk level of an agent, with an optional rationale for the ledger. Admins only. */
export function RiskButton({ agent }: { agent: ResponseBody<'agents.read'> }) {
  const { workspace } = useWorkspace();
  const queries = useQueryClient();
  const [isDialogOpen, setIsDialogOpen] = useState(false);
  const otherLevel = agent.risk_level === 'high' ? 'low' : 'high';
  // The level that the dialog sets. It stays the same even if someone else changes the agent's level meanwhile.
  const [level, setLevel] = useState<typeof otherLevel>(otherLevel);
  if (!useHasRole('admin')) return null;
  const openDialog = () => {
    setLevel(otherLevel);
    setIsDialogOpen(true);
  };
  const setRisk = async (rationale: string) => {
    const { changed } = await call('agents.set_risk', {
      params: { workspace: workspace.id, agent: agent.id },
      body: { risk_level: level, seen_name: agent.name, ...(rationale.trim() === '' ? {} : { rationale }) },
    });
    if (changed) toast.done(`${visibleSpaces(agent.name)} is now ${level} risk.`);
    else toast.problem(`${visibleSpaces(agent.name)} was ${level} risk already, so nothing was recorded.`);
    await queries.invalidateQueries();
  };
  return (
    <>
      <Button variant="default" onClick={openDialog}>
        Set to {otherLevel} risk
      </Button>
      <RationaleDialog
        opened={isDialogOpen}
        onClose={() => setIsDialogOpen(false)}
        title={`Set ${visibleSpaces(agent.name)} to ${level} risk`}
        submit={`Set to ${level} risk`}
        required={false}
        action={setRisk}
      >
        <p className="soft">
          {level === 'high'
            ? 'The agent can then be promoted only after a person approves its evaluation.'
            : 'Evaluations of this agent no longer need approval. Pending approvals stay pending. ' +
              'They cannot be decided while the agent is low risk.'}
        </p>
      </RationaleDialog>
    </>
  );
}

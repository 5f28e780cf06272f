import { Button } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call, type ResponseBody } from '../../api/call.ts';
import { useHasRole, useWorkspace } from '../../api/session.ts';
import { RationaleDialog } from '../../forms/rationale-dialog.tsx';
import { toast } from '../../toasts/toasts.tsx';

/** Archives or restores an agent, with a reason for the ledger. For admins alone. */
export function ArchiveButton({ agent }: { agent: ResponseBody<'agents.read'> }) {
  const { workspace } = useWorkspace();
  const queries = useQueryClient();
  const [asking, setAsking] = useState(false);
  // The dialog keeps what it asks for, also when somebody else archives the agent meanwhile.
  const [archived, setArchived] = useState(false);
  if (!useHasRole('admin')) return null;
  const ask = () => {
    setArchived(agent.archived_at === null);
    setAsking(true);
  };
  const act = async (rationale: string) => {
    await call('agents.set_archived', {
      params: { workspace: workspace.id, agent: agent.id },
      body: { archived, ...(rationale.trim() === '' ? {} : { rationale }) },
    });
    toast.done(archived ? `${agent.name} is archived.` : `${agent.name} is restored.`);
    await queries.invalidateQueries();
  };
  return (
    <>
      <Button variant="default" onClick={ask}>
        {agent.archived_at === null ? 'Archive' : 'Restore'}
      </Button>
      <RationaleDialog
        opened={asking}
        onClose={() => setAsking(false)}
        title={archived ? `Archive ${agent.name}` : `Restore ${agent.name}`}
        submit={archived ? 'Archive' : 'Restore'}
        required={false}
        act={act}
      >
        <p className="soft">
          {archived
            ? 'The agent leaves the overview and the list of agents. Its records stay, and promotion checks decide about it as before.'
            : 'The agent appears in the overview and the list of agents again.'}
        </p>
      </RationaleDialog>
    </>
  );
}

import { Button } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call, type ResponseBody } from '../../api/call.ts';
import { useHasRole, useWorkspace } from '../../api/session.ts';
import { RationaleDialog } from '../../forms/rationale-dialog.tsx';
import { toast } from '../../toasts/toasts.tsx';

/** Archives or restores an agent, with a rationale for the ledger. Admins only. */
export function ArchiveButton({ agent }: { agent: ResponseBody<'agents.read'> }) {
  const { workspace } = useWorkspace();
  const queries = useQueryClient();
  const [dialogOpen, setDialogOpen] = useState(false);
  // The dialog keeps its action even if someone else archives the agent in the meantime.
  const [archived, setArchived] = useState(false);
  if (!useHasRole('admin')) return null;
  const ask = () => {
    setArchived(agent.archived_at === null);
    setDialogOpen(true);
  };
  const act = async (rationale: string) => {
    await call('agents.set_archived', {
      params: { workspace: workspace.id, agent: agent.id },
      body: { archived, ...(rationale.trim() === '' ? {} : { rationale }) },
    });
    toast.done(archived ? `${agent.name} archived.` : `${agent.name} restored.`);
    await queries.invalidateQueries();
  };
  return (
    <>
      <Button variant="default" onClick={ask}>
        {agent.archived_at === null ? 'Archive' : 'Restore'}
      </Button>
      <RationaleDialog
        opened={dialogOpen}
        onClose={() => setDialogOpen(false)}
        title={archived ? `Archive ${agent.name}` : `Restore ${agent.name}`}
        submit={archived ? 'Archive' : 'Restore'}
        required={false}
        action={act}
      >
        <p className="soft">
          {archived
            ? 'The agent is hidden from the overview and the list of agents. Its records are kept, and promotion checks still work.'
            : 'The agent is shown in the overview and the list of agents again.'}
        </p>
      </RationaleDialog>
    </>
  );
}

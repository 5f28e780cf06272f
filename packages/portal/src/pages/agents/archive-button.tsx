import { visibleSpaces } from '@countersign/core/domain/visible-spaces';
import { Button } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call, type ResponseBody } from '../../api/call.ts';
import { useHasRole, useWorkspace } from '../../api/session.ts';
import { RationaleDialog } from '../../forms/rationale-dialog.tsx';
import { toast } from '../../toasts/toasts.tsx';

/** A button that archives or restores an agent, with an optional rationale for the ledger. Admins only. */
export function ArchiveButton({ agent }: { agent: ResponseBody<'agents.read'> }) {
  const { workspace } = useWorkspace();
  const queries = useQueryClient();
  const [isDialogOpen, setIsDialogOpen] = useState(false);
  // Whether the dialog archives or restores the agent. It stays the same even if someone else archives or restores the agent meanwhile.
  const [isArchiving, setIsArchiving] = useState(false);
  if (!useHasRole('admin')) return null;
  const openDialog = () => {
    setIsArchiving(agent.archived_at === null);
    setIsDialogOpen(true);
  };
  const setArchived = async (rationale: string) => {
    const { changed } = await call('agents.set_archived', {
      params: { workspace: workspace.id, agent: agent.id },
      body: { archived: isArchiving, seen_name: agent.name, ...(rationale.trim() === '' ? {} : { rationale }) },
    });
    if (changed) toast.done(isArchiving ? `${visibleSpaces(agent.name)} archived.` : `${visibleSpaces(agent.name)} restored.`);
    else
      toast.problem(
        `${visibleSpaces(agent.name)} was ${isArchiving ? 'archived' : 'restored'} already, so nothing was recorded.`,
      );
    await queries.invalidateQueries();
  };
  return (
    <>
      <Button variant="default" onClick={openDialog}>
        {agent.archived_at === null ? 'Archive' : 'Restore'}
      </Button>
      <RationaleDialog
        opened={isDialogOpen}
        onClose={() => setIsDialogOpen(false)}
        title={isArchiving ? `Archive ${visibleSpaces(agent.name)}` : `Restore ${visibleSpaces(agent.name)}`}
        submit={isArchiving ? 'Archive' : 'Restore'}
        required={false}
        action={setArchived}
      >
        <p className="soft">
          {isArchiving
            ? 'Archiving hides the agent from the list of agents and from the promotion status on the Overview page. ' +
              'Its records are kept, and promotion checks still work.'
            : 'Restoring shows the agent again in the list of agents and in the promotion status on the Overview page.'}
        </p>
      </RationaleDialog>
    </>
  );
}

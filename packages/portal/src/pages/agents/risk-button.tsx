import { Button } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call, type ResponseBody } from '../../api/call.ts';
import { useHasRole, useWorkspace } from '../../api/session.ts';
import { RationaleDialog } from '../../forms/rationale-dialog.tsx';
import { toast } from '../../toasts/toasts.tsx';

/** Sets the risk level of an agent, with a reason for the ledger. For admins alone. */
export function RiskButton({ agent }: { agent: ResponseBody<'agents.read'> }) {
  const { workspace } = useWorkspace();
  const queries = useQueryClient();
  const [asking, setAsking] = useState(false);
  const other = agent.risk_level === 'high' ? 'low' : 'high';
  // What was asked for stays what is asked for, also when somebody else sets it meanwhile.
  const [level, setLevel] = useState<typeof other>(other);
  if (!useHasRole('admin')) return null;
  const ask = () => {
    setLevel(other);
    setAsking(true);
  };
  const act = async (rationale: string) => {
    await call('agents.set_risk', {
      params: { workspace: workspace.id, agent: agent.id },
      body: { risk_level: level, ...(rationale.trim() === '' ? {} : { rationale }) },
    });
    toast.done(`${agent.name} is now a ${level}-risk agent.`);
    await queries.invalidateQueries();
  };
  return (
    <>
      <Button variant="default" onClick={ask}>
        Set to {other} risk
      </Button>
      <RationaleDialog
        opened={asking}
        onClose={() => setAsking(false)}
        title={`Set ${agent.name} to ${level} risk`}
        submit={`Set to ${level} risk`}
        required={false}
        act={act}
      >
        <p className="soft">
          {level === 'high'
            ? 'Every evaluation of it will need a person’s approval before it can be promoted.'
            : 'Its evaluations will need no approval any more.'}
        </p>
      </RationaleDialog>
    </>
  );
}

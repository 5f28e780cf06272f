import { Modal, NativeSelect, Switch, Textarea } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { call, type RequestBody } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { fieldError } from '../../forms/field-errors.ts';
import { Form } from '../../forms/form.tsx';
import { AgentSelect } from '../../lists/agent-select.tsx';
import { toast } from '../../toasts/toasts.tsx';

const NOTHING = { agent: null as string | null, severity: 'high', description: '', recertify: true };

/** Opens an incident against an agent. */
export function OpenIncident({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const { workspace } = useWorkspace();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [typed, setTyped] = useState(NOTHING);
  const act = useMutation({
    mutationFn: () => {
      const { agent, severity, description, recertify } = typed;
      const body = {
        ...(agent === null ? {} : { agent_id: agent }),
        severity,
        description,
        recertify,
      } as RequestBody<'incidents.open'>;
      return call('incidents.open', { params: { workspace: workspace.id }, body });
    },
    meta: { errorShownInForm: true },
    onSuccess: async ({ id }) => {
      setTyped(NOTHING);
      onClose();
      toast.done('The incident is open, and stands in the ledger.');
      await queries.invalidateQueries();
      await navigate({ to: '/w/$workspace/incidents/$incident', params: { workspace: workspace.id, incident: id } });
    },
  });
  return (
    <Modal opened={opened} onClose={onClose} title="Open an incident">
      <Form
        onSubmit={() => act.mutate()}
        error={act.error}
        fields={['agent_id', 'severity', 'description']}
        pending={act.isPending}
        submit="Open the incident"
        onCancel={onClose}
      >
        <AgentSelect
          label="Agent"
          value={typed.agent}
          onChange={(agent) => setTyped({ ...typed, agent })}
          error={fieldError(act.error, 'agent_id')}
          required
        />
        <NativeSelect
          label="Severity"
          data={['low', 'medium', 'high', 'critical']}
          value={typed.severity}
          onChange={({ currentTarget }) => setTyped({ ...typed, severity: currentTarget.value })}
          error={fieldError(act.error, 'severity')}
        />
        <Textarea
          label="What happened"
          description="It goes into the audit ledger and can never be changed. Name no person."
          autosize
          minRows={3}
          maxRows={10}
          value={typed.description}
          onChange={({ currentTarget }) => setTyped({ ...typed, description: currentTarget.value })}
          error={fieldError(act.error, 'description')}
          withAsterisk
        />
        <Switch
          label="Demand re-certification"
          description="The agent is not promoted until it has passed a new evaluation and a person has closed this."
          checked={typed.recertify}
          onChange={({ currentTarget }) => setTyped({ ...typed, recertify: currentTarget.checked })}
        />
      </Form>
    </Modal>
  );
}

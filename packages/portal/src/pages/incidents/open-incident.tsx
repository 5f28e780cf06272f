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

const EMPTY_FORM = { agent: null as string | null, severity: 'high', description: '', recertify: true };

/** A dialog that opens an incident against an agent. */
export function OpenIncident({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const { workspace } = useWorkspace();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [values, setValues] = useState(EMPTY_FORM);
  const mutation = useMutation({
    mutationFn: () => {
      const { agent, severity, description, recertify } = values;
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
      setValues(EMPTY_FORM);
      onClose();
      toast.done('Incident opened and recorded in the ledger.');
      await queries.invalidateQueries();
      await navigate({ to: '/w/$workspace/incidents/$incident', params: { workspace: workspace.id, incident: id } });
    },
  });
  return (
    <Modal opened={opened} onClose={onClose} title="Open incident">
      <Form
        onSubmit={() => mutation.mutate()}
        error={mutation.error}
        fields={['agent_id', 'severity', 'description']}
        pending={mutation.isPending}
        submit="Open incident"
        onCancel={onClose}
      >
        <AgentSelect
          label="Agent"
          value={values.agent}
          onChange={(agent) => setValues({ ...values, agent })}
          error={fieldError(mutation.error, 'agent_id')}
          required
        />
        <NativeSelect
          label="Severity"
          data={['low', 'medium', 'high', 'critical']}
          value={values.severity}
          onChange={({ currentTarget }) => setValues({ ...values, severity: currentTarget.value })}
          error={fieldError(mutation.error, 'severity')}
        />
        <Textarea
          label="What happened"
          description="The text is recorded in the audit ledger and cannot be changed. Do not name people."
          autosize
          minRows={3}
          maxRows={10}
          value={values.description}
          onChange={({ currentTarget }) => setValues({ ...values, description: currentTarget.value })}
          error={fieldError(mutation.error, 'description')}
          withAsterisk
        />
        <Switch
          label="Require re-certification"
          description="The agent cannot be promoted until it passes a new evaluation and a person closes the re-certification."
          checked={values.recertify}
          onChange={({ currentTarget }) => setValues({ ...values, recertify: currentTarget.checked })}
        />
      </Form>
    </Modal>
  );
}

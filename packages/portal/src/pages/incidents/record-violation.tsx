import { Modal, NativeSelect, Textarea, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call, type RequestBody } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { fieldError } from '../../forms/field-errors.ts';
import { Form } from '../../forms/form.tsx';
import { AgentSelect } from '../../lists/agent-select.tsx';
import { toast } from '../../toasts/toasts.tsx';

const EMPTY_FORM = { agent: null as string | null, policy: '', severity: 'medium', description: '', trace: '' };
const FIELDS = ['agent_id', 'policy', 'severity', 'description', 'trace_id'];

/**
 * A dialog that records a policy violation of an agent. Unlike an incident that requires re-certification, a violation does not block
 * the agent.
 */
export function RecordViolation({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const { workspace } = useWorkspace();
  const queries = useQueryClient();
  const [values, setValues] = useState(EMPTY_FORM);
  const set = (member: 'policy' | 'severity' | 'description' | 'trace') => (event: { currentTarget: { value: string } }) =>
    setValues({ ...values, [member]: event.currentTarget.value });
  const mutation = useMutation({
    mutationFn: () => {
      const { agent, policy, severity, description, trace } = values;
      const body = {
        ...(agent === null ? {} : { agent_id: agent }),
        policy,
        severity,
        description,
        ...(trace.trim() === '' ? {} : { trace_id: trace.trim() }),
      } as RequestBody<'violations.record'>;
      return call('violations.record', { params: { workspace: workspace.id }, body });
    },
    meta: { errorShownInForm: true },
    onSuccess: async () => {
      setValues(EMPTY_FORM);
      onClose();
      toast.done('Policy violation recorded in the ledger.');
      await queries.invalidateQueries();
    },
  });
  return (
    <Modal opened={opened} onClose={onClose} title="Record policy violation">
      <Form
        onSubmit={() => mutation.mutate()}
        error={mutation.error}
        fields={FIELDS}
        pending={mutation.isPending}
        submit="Record"
        onCancel={onClose}
      >
        <AgentSelect
          label="Agent"
          value={values.agent}
          onChange={(agent) => setValues({ ...values, agent })}
          error={fieldError(mutation.error, 'agent_id')}
          required
        />
        <TextInput
          label="Policy"
          placeholder="no-refunds-without-receipt"
          value={values.policy}
          onChange={set('policy')}
          error={fieldError(mutation.error, 'policy')}
          withAsterisk
        />
        <NativeSelect
          label="Severity"
          data={['low', 'medium', 'high', 'critical']}
          value={values.severity}
          onChange={set('severity')}
          error={fieldError(mutation.error, 'severity')}
        />
        <Textarea
          label="What happened"
          description="The text is recorded in the audit ledger and cannot be changed. Do not name people."
          autosize
          minRows={3}
          maxRows={10}
          value={values.description}
          onChange={set('description')}
          error={fieldError(mutation.error, 'description')}
          withAsterisk
        />
        <TextInput
          label="Trace ID (optional)"
          value={values.trace}
          onChange={set('trace')}
          error={fieldError(mutation.error, 'trace_id')}
        />
      </Form>
    </Modal>
  );
}

import { Modal, NativeSelect, Textarea, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call, type RequestBody } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { fieldError } from '../../forms/field-errors.ts';
import { Form } from '../../forms/form.tsx';
import { AgentSelect } from '../../lists/agent-select.tsx';
import { toast } from '../../toasts/toasts.tsx';

const NOTHING = { agent: null as string | null, policy: '', severity: 'medium', description: '', trace: '' };
const FIELDS = ['agent_id', 'policy', 'severity', 'description', 'trace_id'];

/** Records that an agent violated a policy. It blocks nothing by itself: an incident does. */
export function RecordViolation({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const { workspace } = useWorkspace();
  const queries = useQueryClient();
  const [typed, setTyped] = useState(NOTHING);
  const set = (member: 'policy' | 'severity' | 'description' | 'trace') => (event: { currentTarget: { value: string } }) =>
    setTyped({ ...typed, [member]: event.currentTarget.value });
  const act = useMutation({
    mutationFn: () => {
      const { agent, policy, severity, description, trace } = typed;
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
      setTyped(NOTHING);
      onClose();
      toast.done('The violation is recorded, and stands in the ledger.');
      await queries.invalidateQueries();
    },
  });
  return (
    <Modal opened={opened} onClose={onClose} title="Record a policy violation">
      <Form
        onSubmit={() => act.mutate()}
        error={act.error}
        fields={FIELDS}
        pending={act.isPending}
        submit="Record"
        onCancel={onClose}
      >
        <AgentSelect
          label="Agent"
          value={typed.agent}
          onChange={(agent) => setTyped({ ...typed, agent })}
          error={fieldError(act.error, 'agent_id')}
          required
        />
        <TextInput
          label="Policy"
          placeholder="no-refunds-without-receipt"
          value={typed.policy}
          onChange={set('policy')}
          error={fieldError(act.error, 'policy')}
          withAsterisk
        />
        <NativeSelect
          label="Severity"
          data={['low', 'medium', 'high', 'critical']}
          value={typed.severity}
          onChange={set('severity')}
          error={fieldError(act.error, 'severity')}
        />
        <Textarea
          label="What happened"
          description="It goes into the audit ledger and can never be changed. Name no person."
          autosize
          minRows={3}
          maxRows={10}
          value={typed.description}
          onChange={set('description')}
          error={fieldError(act.error, 'description')}
          withAsterisk
        />
        <TextInput
          label="Run (trace id), if it is known"
          value={typed.trace}
          onChange={set('trace')}
          error={fieldError(act.error, 'trace_id')}
        />
      </Form>
    </Modal>
  );
}

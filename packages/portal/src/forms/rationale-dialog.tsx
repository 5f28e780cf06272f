import { Modal, Textarea } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { fieldError } from './field-errors.ts';
import { Form } from './form.tsx';

/**
 * Asks for a reason before an act that goes into the ledger. `act` gets the reason; the dialog closes when it succeeded, and
 * says what went wrong, with the reason still there, when it did not.
 */
export function RationaleDialog(props: {
  opened: boolean;
  onClose: () => void;
  title: string;
  submit: string;
  danger?: boolean;
  required?: boolean;
  act: (rationale: string) => Promise<unknown>;
  children?: ReactNode;
}) {
  const { opened, onClose, title, submit, danger = false, required = true, act, children } = props;
  const [rationale, setRationale] = useState('');
  const acting = useMutation({
    mutationFn: () => act(rationale),
    meta: { errorShownInForm: true },
    onSuccess: () => {
      setRationale('');
      onClose();
    },
  });
  const close = () => {
    acting.reset();
    onClose();
  };
  return (
    <Modal opened={opened} onClose={close} title={title}>
      <Form
        onSubmit={() => acting.mutate()}
        error={acting.error}
        fields={['rationale']}
        pending={acting.isPending}
        submit={submit}
        danger={danger}
        onCancel={close}
      >
        {children}
        <Textarea
          label="Rationale"
          description="It goes into the audit ledger and can never be changed."
          value={rationale}
          onChange={({ currentTarget }) => setRationale(currentTarget.value)}
          error={fieldError(acting.error, 'rationale')}
          withAsterisk={required}
          autosize
          minRows={3}
          maxRows={10}
          data-autofocus
        />
      </Form>
    </Modal>
  );
}

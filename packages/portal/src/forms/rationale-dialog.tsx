import { Modal, Textarea } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { fieldError } from './field-errors.ts';
import { Form } from './form.tsx';

/**
 * A dialog that asks for the rationale of an action that is recorded in the ledger. It closes after `action` succeeds. On an
 * error it stays open, shows the error and keeps the rationale.
 */
export function RationaleDialog(props: {
  opened: boolean;
  onClose: () => void;
  title: ReactNode;
  submit: string;
  danger?: boolean;
  required?: boolean;
  action: (rationale: string) => Promise<unknown>;
  children?: ReactNode;
}) {
  const { opened, onClose, title, submit, danger = false, required = true, action, children } = props;
  const [rationale, setRationale] = useState('');
  const mutation = useMutation({
    mutationFn: () => action(rationale),
    meta: { errorShownInForm: true },
    onSuccess: () => {
      setRationale('');
      onClose();
    },
  });
  const rejection = fieldError(mutation.error, 'rationale');
  const isEmpty = rationale.trim() === '';
  const close = () => {
    mutation.reset();
    onClose();
  };
  return (
    <Modal opened={opened} onClose={close} title={title}>
      <Form
        onSubmit={() => mutation.mutate()}
        error={mutation.error}
        fields={['rationale']}
        pending={mutation.isPending}
        submit={submit}
        danger={danger}
        onCancel={close}
      >
        {children}
        <Textarea
          label="Rationale"
          description="The rationale is recorded in the audit ledger and cannot be changed."
          value={rationale}
          onChange={({ currentTarget }) => setRationale(currentTarget.value)}
          error={isEmpty && rejection !== undefined ? 'Enter a rationale.' : rejection}
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

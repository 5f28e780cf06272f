import { Modal } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Form } from './form.tsx';

/** A dialog that asks for confirmation and runs `action`. It closes after `action` succeeds, and shows the error otherwise. */
export function ConfirmDialog(props: {
  opened: boolean;
  onClose: () => void;
  title: string;
  submit: string;
  danger?: boolean;
  action: () => Promise<unknown>;
  children: ReactNode;
}) {
  const { opened, onClose, title, submit, danger = false, action, children } = props;
  const mutation = useMutation({ mutationFn: action, meta: { errorShownInForm: true }, onSuccess: onClose });
  const close = () => {
    mutation.reset();
    onClose();
  };
  return (
    <Modal opened={opened} onClose={close} title={title}>
      <Form
        onSubmit={() => mutation.mutate()}
        error={mutation.error}
        fields={[]}
        pending={mutation.isPending}
        submit={submit}
        danger={danger}
        onCancel={close}
      >
        {children}
      </Form>
    </Modal>
  );
}

import { Modal } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Form } from './form.tsx';

/** Asks once more before an act that cannot be taken back. */
export function ConfirmDialog(props: {
  opened: boolean;
  onClose: () => void;
  title: string;
  submit: string;
  danger?: boolean;
  act: () => Promise<unknown>;
  children: ReactNode;
}) {
  const { opened, onClose, title, submit, danger = false, act, children } = props;
  const acting = useMutation({ mutationFn: act, meta: { errorShownInForm: true }, onSuccess: onClose });
  const close = () => {
    acting.reset();
    onClose();
  };
  return (
    <Modal opened={opened} onClose={close} title={title}>
      <Form
        onSubmit={() => acting.mutate()}
        error={acting.error}
        fields={[]}
        pending={acting.isPending}
        submit={submit}
        danger={danger}
        onCancel={close}
      >
        {children}
      </Form>
    </Modal>
  );
}

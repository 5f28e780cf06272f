import { Button } from '@mantine/core';
import { type ReactNode, type SubmitEvent, useEffect, useRef } from 'react';
import { Notice } from '../components/notice.tsx';
import { formError } from './field-errors.ts';
import styles from './form.module.css';
import { useUnsavedInput } from './unsaved-input.ts';

/**
 * A form that keeps its input on errors. The server validates the input. The fields with the names in `fields` show their own errors
 * with fieldError. Other errors are shown above the buttons. After an error, the first field with an error gets the focus.
 */
export function Form(props: {
  onSubmit: () => void;
  error: unknown;
  fields: readonly string[];
  pending: boolean;
  submit: string;
  danger?: boolean;
  onCancel?: () => void;
  children: ReactNode;
}) {
  const { onSubmit, error, fields, pending, submit, danger = false, onCancel, children } = props;
  const otherError = formError(error, fields);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (error != null) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [error]);
  const markUnsaved = useUnsavedInput({ pending, error });
  const send = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (!pending) onSubmit();
  };
  return (
    // The browser's own validation would block the submission, so the server's messages would not be shown.
    <form ref={form} noValidate onSubmit={send} onInput={markUnsaved} className={styles.form}>
      {children}
      {otherError !== undefined && (
        <Notice kind="problem" role="alert">
          <p>{otherError}</p>
        </Notice>
      )}
      <div className={styles.actions}>
        {onCancel !== undefined && (
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
        )}
        <Button type="submit" loading={pending} {...(danger ? { color: 'red' } : {})}>
          {submit}
        </Button>
      </div>
    </form>
  );
}

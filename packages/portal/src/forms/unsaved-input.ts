import { useEffect, useRef, useState } from 'react';

/** The forms of the page with input that has not been submitted. */
const formsWithInput = new Set<object>();

/** Whether leaving the page now would lose input. */
export const hasUnsavedInput = (): boolean => formsWithInput.size > 0;

/** Returns the onInput handler of a form. Input is unsaved until a submission succeeds or the form is removed. */
export function useUnsavedInput({ pending, error }: { pending: boolean; error: unknown }): () => void {
  const [form] = useState(() => ({}));
  const wasPending = useRef(false);
  useEffect(() => {
    if (wasPending.current && !pending && error == null) formsWithInput.delete(form);
    wasPending.current = pending;
  }, [pending, error, form]);
  useEffect(() => () => void formsWithInput.delete(form), [form]);
  return () => void formsWithInput.add(form);
}

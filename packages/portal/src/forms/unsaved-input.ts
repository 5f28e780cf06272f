import { useEffect, useRef, useState } from 'react';

/** The forms of the page that somebody has typed into, and that were not sent since. */
const typedInto = new Set<object>();

/** Whether leaving the page now would lose what was typed. */
export const hasUnsavedInput = (): boolean => typedInto.size > 0;

/** For a form's onInput: from then on it holds what was typed, until it was taken by the server or is gone from the page. */
export function useUnsavedInput({ pending, error }: { pending: boolean; error: unknown }): () => void {
  const [form] = useState(() => ({}));
  const wasPending = useRef(false);
  useEffect(() => {
    if (wasPending.current && !pending && error == null) typedInto.delete(form);
    wasPending.current = pending;
  }, [pending, error, form]);
  useEffect(() => () => void typedInto.delete(form), [form]);
  return () => void typedInto.add(form);
}

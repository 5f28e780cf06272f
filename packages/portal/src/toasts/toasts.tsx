import { IconAlertTriangle, IconCheck, IconX } from '@tabler/icons-react';
import { useSyncExternalStore } from 'react';
import styles from './toasts.module.css';

/**
 * A short message about an action. A success disappears after DONE_SHOWN_MS. A problem stays until it is dismissed. If there are already
 * four messages, a new one replaces the oldest.
 */
interface Toast {
  id: number;
  kind: 'done' | 'problem';
  text: string;
}

const DONE_SHOWN_MS = 5_000;
let toasts: readonly Toast[] = [];
let nextId = 1;
const listeners = new Set<() => void>();

function setToasts(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

const dismiss = (id: number) => setToasts(toasts.filter((each) => each.id !== id));

function add(kind: Toast['kind'], text: string): void {
  const id = nextId++;
  // A repeated message replaces the earlier one.
  setToasts([...toasts.filter((each) => each.text !== text), { id, kind, text }].slice(-4));
  if (kind === 'done') setTimeout(() => dismiss(id), DONE_SHOWN_MS);
}

export const toast = {
  /** Reports a success. */
  done: (text: string) => add('done', text),
  /** Reports a problem. */
  problem: (text: string) => add('problem', text),
};

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** The region that shows toasts. Screen readers announce them. */
export function Toasts() {
  const messages = useSyncExternalStore(subscribe, () => toasts);
  return (
    <section className={styles.region} aria-label="Messages" aria-live="polite">
      {messages.map(({ id, kind, text }) => (
        <div key={id} className={styles.toast} data-kind={kind} role={kind === 'problem' ? 'alert' : 'status'}>
          {kind === 'done' ? <IconCheck size={17} aria-hidden /> : <IconAlertTriangle size={17} aria-hidden />}
          <span>{text}</span>
          <button type="button" aria-label="Dismiss message" onClick={() => dismiss(id)}>
            <IconX size={15} aria-hidden />
          </button>
        </div>
      ))}
    </section>
  );
}

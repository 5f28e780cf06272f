import { IconCheck, IconCopy } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { toast } from '../toasts/toasts.tsx';
import styles from './copy-button.module.css';

const COPIED_SHOWN_MS = 1_600;

/** A button that copies `text`. Its accessible name is "Copy" and `what`. The optional `label` is shown next to the icon. */
export function CopyButton({ text, what, label }: { text: string; what: string; label?: string }) {
  const [isCopied, setIsCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setIsCopied(false), COPIED_SHOWN_MS);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setIsCopied(true);
    } catch {
      toast.problem('The browser blocked copying. Select the text and copy it with the keyboard.');
    }
  };
  const Icon = isCopied ? IconCheck : IconCopy;
  return (
    <button
      type="button"
      className={styles.copy}
      onClick={() => void copy()}
      aria-label={`Copy ${what}`}
      data-hint={isCopied ? 'Copied' : `Copy ${what}`}
    >
      <Icon size={14} aria-hidden />
      {label !== undefined && <span>{isCopied ? 'Copied' : label}</span>}
      <span className="visually-hidden" role="status">
        {isCopied ? 'Copied' : ''}
      </span>
    </button>
  );
}

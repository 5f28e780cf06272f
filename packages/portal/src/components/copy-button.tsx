import { IconCheck, IconCopy } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { toast } from '../toasts/toasts.tsx';
import styles from './copy-button.module.css';

const COPIED_SHOWN_MS = 1_600;

/** A button that copies `text`. Its accessible name is "Copy" and `what`. The optional `label` is shown next to the icon. */
export function CopyButton({ text, what, label }: { text: string; what: string; label?: string }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), COPIED_SHOWN_MS);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
    } catch {
      toast.problem('The browser blocked copying. Select the text and copy it with the keyboard.');
    }
  };
  const Icon = copied ? IconCheck : IconCopy;
  return (
    <button
      type="button"
      className={styles.copy}
      onClick={() => void copy()}
      aria-label={`Copy ${what}`}
      data-hint={copied ? 'Copied' : `Copy ${what}`}
    >
      <Icon size={14} aria-hidden />
      {label !== undefined && <span>{copied ? 'Copied' : label}</span>}
      <span className="visually-hidden" role="status">
        {copied ? 'Copied' : ''}
      </span>
    </button>
  );
}

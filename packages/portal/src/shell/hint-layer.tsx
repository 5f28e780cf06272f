import { useEffect, useState } from 'react';
import styles from './hint-layer.module.css';

interface Hint {
  text: string;
  left: number;
  top: number;
}

/** Whether the hint would only repeat what stands there whole: a name that turned out not to be cut. */
const isRead = (holder: Element): boolean =>
  holder.getAttribute('data-hint') === holder.textContent && holder.scrollWidth <= holder.clientWidth;

/**
 * One layer for all short hints: whatever carries `data-hint` shows it on hover and on focus. A list of fifty rows has a
 * hundred times and hashes; a tooltip component for each would cost more than the list.
 */
export function HintLayer() {
  const [hint, setHint] = useState<Hint>();
  useEffect(() => {
    const show = (event: Event) => {
      const holder = event.target instanceof Element ? event.target.closest('[data-hint]') : null;
      if (holder === null || isRead(holder)) return setHint(undefined);
      const { left, width, top } = holder.getBoundingClientRect();
      setHint({ text: holder.getAttribute('data-hint') ?? '', left: left + width / 2, top });
    };
    const hide = () => setHint(undefined);
    const onKey = (event: KeyboardEvent) => event.key === 'Escape' && hide();
    document.addEventListener('pointerover', show);
    document.addEventListener('focusin', show);
    document.addEventListener('focusout', hide);
    document.addEventListener('keydown', onKey);
    window.addEventListener('scroll', hide, true);
    return () => {
      document.removeEventListener('pointerover', show);
      document.removeEventListener('focusin', show);
      document.removeEventListener('focusout', hide);
      document.removeEventListener('keydown', onKey);
      window.removeEventListener('scroll', hide, true);
    };
  }, []);
  if (hint === undefined) return null;
  const left = Math.min(Math.max(hint.left, 120), window.innerWidth - 120);
  return (
    <div className={styles.hint} style={{ left, top: hint.top - 6 }} data-below={hint.top < 48 || undefined} aria-hidden="true">
      {hint.text}
    </div>
  );
}

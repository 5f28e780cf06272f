import { useEffect, useState } from 'react';
import styles from './hint-layer.module.css';

interface Hint {
  text: string;
  left: number;
  top: number;
}

/** Whether the hint would only repeat a text that is fully visible. */
const isRedundant = (element: Element): boolean =>
  element.getAttribute('data-hint') === element.textContent && element.scrollWidth <= element.clientWidth;

/**
 * Shows the `data-hint` of any element on hover and focus. One layer serves all elements, because a tooltip component per table
 * cell would be slow.
 */
export function HintLayer() {
  const [hint, setHint] = useState<Hint>();
  useEffect(() => {
    const show = (event: Event) => {
      const element = event.target instanceof Element ? event.target.closest('[data-hint]') : null;
      if (element === null || isRedundant(element)) return setHint(undefined);
      const { left, width, top } = element.getBoundingClientRect();
      setHint({ text: element.getAttribute('data-hint') ?? '', left: left + width / 2, top });
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

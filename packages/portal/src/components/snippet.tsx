import { CopyButton } from './copy-button.tsx';
import styles from './snippet.module.css';

/** A command or a document with a copy button. `what` is its accessible name. */
export function Snippet({ text, what }: { text: string; what: string }) {
  return (
    <div className={styles.snippet}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be scrollable by keyboard. */}
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset is for form fields; this only labels the text. */}
      <div role="group" aria-label={what} tabIndex={0} className={styles.text}>
        <pre>{text}</pre>
      </div>
      <div className={styles.copy}>
        <CopyButton text={text} what={what} label="Copy" />
      </div>
    </div>
  );
}

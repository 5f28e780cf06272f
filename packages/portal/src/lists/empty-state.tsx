import type { ReactNode } from 'react';
import { Snippet } from '../components/snippet.tsx';
import styles from './empty-state.module.css';

/** What stands where there is nothing yet: what it is, and what to do next. */
export function EmptyState({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div className={styles.empty}>
      <h3>{title}</h3>
      {children}
    </div>
  );
}

/** The curl line that sends the first record of a kind; the key is what the reader puts in. */
export function FirstCall({ path, body, scope }: { path: string; body: unknown; scope: string }) {
  return (
    <>
      <Snippet text={curlLine(path, body)} what={`curl line for ${path}`} />
      <p className="faint">
        Set an ingestion key with the scope <code>{scope}</code> first: <code>export COUNTERSIGN_API_KEY=…</code>. An admin mints
        one under Ingestion keys.
      </p>
    </>
  );
}

/** A curl line against this server, as it can be pasted into a shell. */
export function curlLine(path: string, body: unknown, key = '$COUNTERSIGN_API_KEY'): string {
  const text = JSON.stringify(body).replaceAll("'", "'\\''");
  return `curl -s ${window.location.origin}${path} \\\n  -H "Authorization: Bearer ${key}" \\\n  -H 'Content-Type: application/json' \\\n  -d '${text}'`;
}

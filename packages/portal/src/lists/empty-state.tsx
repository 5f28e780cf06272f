import type { ReactNode } from 'react';
import { Snippet } from '../components/snippet.tsx';
import styles from './empty-state.module.css';

/** Shown instead of an empty list: what belongs in the list, and what to do next. */
export function EmptyState({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div className={styles.empty}>
      <h3>{title}</h3>
      {children}
    </div>
  );
}

/** An example request as a curl command, and how to set its key. */
export function ExampleRequest({ path, body, scope }: { path: string; body: unknown; scope: string }) {
  return (
    <>
      <Snippet text={curlCommand(path, body)} what={`curl command for ${path}`} />
      <p className="faint">
        First set an ingestion key with the scope <code>{scope}</code>: <code>export COUNTERSIGN_API_KEY=…</code>. Admins mint
        keys under Administration, Ingestion keys.
      </p>
    </>
  );
}

/** A curl command for this server that can be pasted into a shell. */
export function curlCommand(path: string, body: unknown, key = '$COUNTERSIGN_API_KEY'): string {
  const text = JSON.stringify(body).replaceAll("'", "'\\''");
  return [
    `curl -s ${window.location.origin}${path}`,
    `-H "Authorization: Bearer ${key}"`,
    "-H 'Content-Type: application/json'",
    `-d '${text}'`,
  ].join(' \\\n  ');
}

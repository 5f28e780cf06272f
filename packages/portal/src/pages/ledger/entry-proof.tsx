import { rowHashOf } from '@countersign/core/domain/audit-chain';
import type { ResponseBody } from '../../api/call.ts';
import { Identifier } from '../../components/identifier.tsx';
import { Notice } from '../../components/notice.tsx';
import { Panel } from '../../components/panel.tsx';
import { digests } from '../../proof/browser-cryptography.ts';
import styles from './entry-proof.module.css';

type Entry = ResponseBody<'ledger.read'>;

/** Recomputes the entry's hash and checks its links to the adjacent entries. */
export function EntryProof({ entry }: { entry: Entry }) {
  const errors = chainErrors(entry);
  return (
    <Panel title="Hash chain" note="Recomputed in this browser.">
      <div className="stack">
        <ol className={styles.chain}>
          <ChainLink
            label={
              entry.previous === null ? 'First entry, no previous hash' : `Hash of the previous entry (${entry.previous.seq})`
            }
            hash={entry.prev_hash}
          />
          <ChainLink label={`Hash of this entry (${entry.seq})`} hash={entry.row_hash} current />
          <ChainLink
            label={entry.next === null ? 'Last entry, no next entry yet' : `Hash of the next entry (${entry.next.seq})`}
            hash={entry.next?.row_hash ?? null}
          />
        </ol>
        {errors.length === 0 ? (
          <Notice kind="good">
            <p>
              The hash of this entry matches its content, and its links to the adjacent entries are correct. To check all entries,
              verify the whole ledger on the Audit ledger page.
            </p>
          </Notice>
        ) : (
          <Notice kind="problem" title="The hash chain is broken at this entry" role="alert">
            {errors.map((error) => (
              <p key={error}>{error}</p>
            ))}
          </Notice>
        )}
      </div>
    </Panel>
  );
}

function ChainLink({ label, hash, current = false }: { label: string; hash: string | null; current?: boolean }) {
  return (
    <li data-current={current || undefined}>
      <span>{label}</span>
      {hash !== null && <Identifier value={hash} what="the hash" />}
    </li>
  );
}

function chainErrors({ document, row_hash, prev_hash, previous, next, seq }: Entry): string[] {
  const errors: string[] = [];
  const computed = rowHashOf(document, digests);
  if (computed !== row_hash)
    errors.push(`The stored hash is ${row_hash}, but the hash of the content is ${computed}. The entry was altered.`);
  if (!document.includes(`"prev_hash":${prev_hash === null ? 'null' : `"${prev_hash}"`}`))
    errors.push('The previous hash shown here differs from the previous hash in the hashed text.');
  if (previous !== null && previous.row_hash !== prev_hash)
    errors.push(
      prev_hash === null
        ? `The entry names no previous hash, but entry ${previous.seq} exists.`
        : `The entry names ${prev_hash} as the previous hash, but entry ${previous.seq} has the hash ${previous.row_hash}.`,
    );
  if (previous === null && seq > 1) errors.push('The previous entry is missing.');
  if (next !== null && next.prev_hash !== row_hash)
    errors.push(
      next.prev_hash === null
        ? `Entry ${next.seq} names no previous hash.`
        : `Entry ${next.seq} names a different previous hash: ${next.prev_hash}.`,
    );
  return errors;
}

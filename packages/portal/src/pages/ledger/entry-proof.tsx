import { rowHashOf } from '@countersign/core/domain/audit-chain';
import type { ResponseBody } from '../../api/call.ts';
import { Identifier } from '../../components/identifier.tsx';
import { Notice } from '../../components/notice.tsx';
import { Panel } from '../../components/panel.tsx';
import { digests } from '../../proof/browser-digests.ts';
import styles from './entry-proof.module.css';

type Entry = ResponseBody<'ledger.read'>;

/** The entry's place in the chain, recomputed here: its own hash, and the links to its neighbours. */
export function EntryProof({ entry }: { entry: Entry }) {
  const faults = faultsOf(entry);
  return (
    <Panel title="Place in the chain" note="Recomputed in this browser.">
      <div className="stack">
        <ol className={styles.chain}>
          <Link
            label={
              entry.previous === null ? 'First entry: nothing before it' : `Hash of entry ${entry.previous.seq}, the one before`
            }
            hash={entry.prev_hash}
          />
          <Link label={`Hash of this entry, ${entry.seq}`} hash={entry.row_hash} current />
          <Link
            label={entry.next === null ? 'Last entry: nothing behind it yet' : `Hash of entry ${entry.next.seq}, the one behind`}
            hash={entry.next?.row_hash ?? null}
          />
        </ol>
        {faults.length === 0 ? (
          <Notice kind="good">
            <p>
              Its content hashes to its hash, and its neighbours are linked to it. Verify the whole ledger to know the same of all
              others.
            </p>
          </Notice>
        ) : (
          <Notice kind="problem" title="This entry is not as it was recorded" role="alert">
            {faults.map((fault) => (
              <p key={fault}>{fault}</p>
            ))}
          </Notice>
        )}
      </div>
    </Panel>
  );
}

function Link({ label, hash, current = false }: { label: string; hash: string | null; current?: boolean }) {
  return (
    <li data-current={current || undefined}>
      <span>{label}</span>
      {hash !== null && <Identifier value={hash} what="the hash" />}
    </li>
  );
}

function faultsOf({ document, row_hash, prev_hash, previous, next, seq }: Entry): string[] {
  const faults: string[] = [];
  const computed = rowHashOf(document, digests);
  if (computed !== row_hash) faults.push(`Its hash says ${row_hash}, but its content hashes to ${computed}: it was altered.`);
  if (!document.includes(`"prev_hash":${prev_hash === null ? 'null' : `"${prev_hash}"`}`))
    faults.push('The hash before that is shown is not the one in the text that was hashed.');
  if (previous !== null && previous.row_hash !== prev_hash)
    faults.push(`It names ${prev_hash} as the hash before, but entry ${previous.seq} has ${previous.row_hash}.`);
  if (previous === null && seq > 1) faults.push('The entry before it is missing.');
  if (next !== null && next.prev_hash !== row_hash)
    faults.push(`Entry ${next.seq} names another hash as the one before it: ${next.prev_hash}.`);
  return faults;
}

import { rowHashOf } from '@countersign/core/domain/audit-chain';
import type { ResponseBody } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { Identifier } from '../../components/identifier.tsx';
import { Notice } from '../../components/notice.tsx';
import { formatCountOf } from '../../components/number-format.ts';
import { Panel } from '../../components/panel.tsx';
import { digests } from '../../proof/browser-cryptography.ts';
import { compareColumns } from '../../proof/compare-columns.ts';
import styles from './entry-proof.module.css';

type Entry = ResponseBody<'ledger.read'>;

/** Recomputes the entry's hash. Checks the entry's links to the adjacent entries, and the columns that the page shows. */
export function EntryProof({ entry }: { entry: Entry }) {
  const { workspace } = useWorkspace();
  const errors = [...columnErrors(entry, workspace.id), ...chainErrors(entry)];
  return (
    <Panel title="Hash chain" note="Verified in this browser.">
      <div className="stack">
        <ol className={styles.chain}>
          <ChainLink
            label={
              entry.previous === null ? 'First entry, no previous hash' : `Hash of the previous entry (${entry.previous.seq})`
            }
            hash={entry.prev_hash}
          />
          <ChainLink label={`Hash of this entry (${entry.seq})`} hash={entry.row_hash} current />
          <ChainLink label={nextLabel(entry)} hash={entry.next?.row_hash ?? null} />
        </ol>
        {errors.length === 0 ? (
          <Notice kind="good">
            <p>
              The hash of this entry matches its content, and its links to the adjacent entries are correct. To check all entries,
              verify the whole ledger on the Audit ledger page.
            </p>
          </Notice>
        ) : (
          <Notice kind="problem" title="This entry is not valid" role="alert">
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

const nextLabel = ({ seq, next, last_seq }: Entry): string =>
  next !== null
    ? `Hash of the next entry (${next.seq})`
    : last_seq === seq
      ? 'Last entry, no next entry yet'
      : 'No next entry in the database';

const columnErrors = ({ document, agent, ...entry }: Entry, tenantId: string): string[] => {
  const { seq, id, recorded_at, recorded_by, actor, action, trace_id, prev_hash } = entry;
  const columns = { tenant_id: tenantId, seq, id, recorded_at, recorded_by, actor, action, trace_id, prev_hash };
  return compareColumns(JSON.parse(document) as Record<string, unknown>, { ...columns, agent_id: agent?.id ?? null });
};

function chainErrors({ document, row_hash, prev_hash, previous, next, seq, last_seq }: Entry): string[] {
  const errors: string[] = [];
  const computed = rowHashOf(document, digests);
  if (computed !== row_hash)
    errors.push(`The stored hash is ${row_hash}, but the hash of the content is ${computed}. The entry was altered.`);
  if (previous !== null && previous.row_hash !== prev_hash)
    errors.push(
      prev_hash === null
        ? `The entry names no previous hash, but entry ${previous.seq} exists.`
        : `The entry names ${prev_hash} as the previous hash, but entry ${previous.seq} has the hash ${previous.row_hash}.`,
    );
  if (previous === null && seq > 1) errors.push('The previous entry is missing.');
  if (last_seq === null) errors.push('The head of the ledger is not valid, so it is unknown whether a next entry is missing.');
  else if (next === null && last_seq > seq)
    errors.push(`The next entry is missing: the ledger has ${formatCountOf(last_seq, 'entry', 'entries')}.`);
  if (next !== null && next.prev_hash !== row_hash)
    errors.push(
      next.prev_hash === null
        ? `Entry ${next.seq} names no previous hash.`
        : `Entry ${next.seq} names a different previous hash: ${next.prev_hash}.`,
    );
  return errors;
}

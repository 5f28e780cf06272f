import { visibleSpaces } from '@countersign/core/domain/visible-spaces';
import { Notice } from './notice.tsx';

/**
 * A notice that a stored record differs from the audit ledger, or that the ledger itself was changed. Renders nothing if `fault` is null.
 * `record` names the record, such as `this approval`.
 */
export function AlteredNotice({ record, fault }: { record: string; fault: string | null }) {
  if (fault === null) return null;
  return (
    <Notice kind="problem" title={`The audit ledger does not confirm ${record}`} role="alert">
      <p>{visibleSpaces(`${fault.charAt(0).toUpperCase()}${fault.slice(1)}.`)}</p>
      <p>
        Do not rely on this page. The database was changed outside Countersign. Ask the operator to restore the changed row from a
        backup.
      </p>
    </Notice>
  );
}

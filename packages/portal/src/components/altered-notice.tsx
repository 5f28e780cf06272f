import { visibleSpaces } from '@countersign/core/domain/visible-spaces';
import { Notice } from './notice.tsx';

/** A notice that a stored record differs from the audit ledger. Renders nothing without a fault. `record` is a noun, such as `approval`. */
export function AlteredNotice({ record, fault }: { record: string; fault: string | null }) {
  if (fault === null) return null;
  return (
    <Notice kind="problem" title={`The ${record} was changed outside Countersign`} role="alert">
      <p>{visibleSpaces(`${fault.charAt(0).toUpperCase()}${fault.slice(1)}.`)}</p>
      <p>Rely on the audit ledger and not on this page. Ask the operator to restore the row from a backup.</p>
    </Notice>
  );
}

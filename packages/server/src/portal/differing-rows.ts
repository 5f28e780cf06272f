import type { DifferingRow } from '@countersign/core/portal/differing-row';
import type { PortalParts } from './portal-parts.ts';

/**
 * The findings of the last comparisons in a workspace. Two of the comparisons check the tables against the evidence log, so some findings
 * are equal. Equal findings are returned once.
 */
export function differingRows(
  { evidenceFindings, ledgerFindings, traceFindings }: PortalParts,
  workspace: string,
): DifferingRow[] {
  const allFindings = [evidenceFindings, ledgerFindings, traceFindings].flatMap((findings) => findings.of(workspace));
  return [...new Map(allFindings.map((finding) => [`${finding.table} ${finding.id} ${finding.fault}`, finding])).values()];
}

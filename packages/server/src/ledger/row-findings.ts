import type { ChainReport } from '@countersign/core/domain/chain-report';

/** The number of findings of one workspace after which a comparison stops. */
export const FINDINGS_PER_WORKSPACE_MAX = 20;

/** A row that is not valid, or that differs from a log of its workspace. */
export interface RowFinding {
  table: string;
  id: string;
  /** What is wrong with it. */
  fault: string;
}

/** The report of a verified log. For some logs it also lists rows of other tables that differ from the log. */
export type LogReport = ChainReport & { findings?: readonly RowFinding[] };

/**
 * Describes the first row that differs from its log, with the number of the others. A search that has reached the maximum may have missed
 * some.
 */
export function differenceReason(first: RowFinding, count: number): string {
  const atLeast = count >= FINDINGS_PER_WORKSPACE_MAX ? 'at least ' : '';
  const more = count > 1 ? ` (and ${atLeast}${count - 1} more)` : '';
  return `the row ${first.id} differs from the log: ${first.fault}${more}`;
}

/** A table as the `source` of a Contradiction. */
export const tableSource = (table: string): string => `the table ${table}`;

/** The name of a submission of a trace in a finding. */
export const submissionName = (trace: string, number: number): string => `${trace}, submission ${number}`;

/** The fault of a row whose document cannot be read. */
export const UNREADABLE_DOCUMENT =
  'its document cannot be read: the row of document_segments that contains it was changed or deleted';

/** Rows that are not valid, or that differ from a log of their workspace, as of the last comparison of each workspace. */
export class RowFindings<Finding extends RowFinding> {
  readonly #byTenant = new Map<string, readonly Finding[]>();

  /** Replaces the findings of a workspace. Returns those that were not known before. */
  replace(tenantId: string, findings: readonly Finding[]): Finding[] {
    const known = new Set(this.of(tenantId).map(identity));
    if (findings.length === 0) this.#byTenant.delete(tenantId);
    else this.#byTenant.set(tenantId, findings);
    return findings.filter((finding) => !known.has(identity(finding)));
  }

  /** Adds findings of a workspace that was not compared completely. Returns those that were not known before. */
  add(tenantId: string, findings: readonly Finding[]): Finding[] {
    const known = this.of(tenantId);
    const added = new Set(findings.map(identity));
    return this.replace(tenantId, [...known.filter((finding) => !added.has(identity(finding))), ...findings]);
  }

  /** The findings of a workspace. */
  of(tenantId: string): readonly Finding[] {
    return this.#byTenant.get(tenantId) ?? [];
  }

  /** The number of findings in all workspaces. */
  get count(): number {
    return [...this.#byTenant.values()].reduce((sum, findings) => sum + findings.length, 0);
  }

  /** The tables of the findings. */
  get tables(): string[] {
    return [...new Set([...this.#byTenant.values()].flat().map(({ table }) => table))].sort();
  }
}

const identity = ({ table, id, fault }: RowFinding): string => JSON.stringify([table, id, fault]);

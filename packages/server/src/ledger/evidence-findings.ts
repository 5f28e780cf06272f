import type { TableFinding } from './evidence-tables.ts';

/** The largest number of findings of a workspace. */
export const FINDINGS_PER_WORKSPACE_MAX = 20;

/** Rows that differ from the log `evidence` of their workspace, as of the last comparison of each workspace. */
export class EvidenceFindings {
  readonly #byTenant = new Map<string, readonly TableFinding[]>();

  /** Replaces the findings of a workspace, and returns the new ones. */
  replace(tenantId: string, findings: readonly TableFinding[]): TableFinding[] {
    const known = new Set(this.of(tenantId).map(identity));
    if (findings.length === 0) this.#byTenant.delete(tenantId);
    else this.#byTenant.set(tenantId, findings);
    return findings.filter((finding) => !known.has(identity(finding)));
  }

  /** The findings of a workspace. */
  of(tenantId: string): readonly TableFinding[] {
    return this.#byTenant.get(tenantId) ?? [];
  }

  /** The number of differing rows in all workspaces. */
  get count(): number {
    return [...this.#byTenant.values()].reduce((sum, findings) => sum + findings.length, 0);
  }

  /** One line for `/readyz`, without IDs, because the endpoint is public. Undefined if nothing differs. */
  get summary(): string | undefined {
    if (this.count === 0) return undefined;
    const tables = new Set([...this.#byTenant.values()].flat().map(({ table }) => table));
    return `rows differ from the log of evidence: ${[...tables].sort().join(', ')}; decisions do not depend on them, the log names them`;
  }
}

const identity = ({ table, id, fault }: TableFinding): string => JSON.stringify([table, id, fault]);

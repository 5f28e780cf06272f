/*
 * Rewrites statements for Citus (citus.ts): only INSERTs of given rows. All others are sent unchanged. ADR: docs/decisions/0058.
 */

/** An INSERT of given rows, with the tenant as the first column. */
const INSERT_OF_ROWS = /^(INSERT INTO countersign\.\w+ \(tenant_id,[^)]*\)\s+SELECT )\$1(,.*?\sFROM )unnest\(/s;

/** A row that every tenant has from its creation on. No statement uses the names `of_row` and `row_of_tenant` for anything else. */
const ROW_OF_TENANT = `(SELECT tenant_id AS of_row FROM countersign.log_heads WHERE tenant_id = $1 AND log = 'audit') AS row_of_tenant`;

const forms = new Map<string, string>();

/**
 * The form of a statement on Citus. `INSERT … SELECT $1, … FROM unnest(…)` takes the tenant from a stored row instead: Citus then runs the
 * statement on the node of this row. Otherwise Citus collects the rows and sends them by COPY, which row-level security does not permit.
 */
export function onCitus(text: string): string {
  const known = forms.get(text);
  if (known !== undefined) return known;
  const form = text.replace(
    INSERT_OF_ROWS,
    `$1row_of_tenant.of_row$2${ROW_OF_TENANT.replaceAll('$', '$$$$')} CROSS JOIN unnest(`,
  );
  forms.set(text, form);
  return form;
}

/** Whether `onCitus` has taken the tenant of the rows from a stored row. If that row is missing, the statement inserts nothing. */
export const needsRowOfTenant = (form: string): boolean => form.includes(ROW_OF_TENANT);

/** Fails with a division by zero if the tenant lacks that row. Sent before COMMIT. */
export const REQUIRE_ROW_OF_TENANT = `SELECT 1 / count(*) AS found FROM countersign.log_heads WHERE tenant_id = $1 AND log = 'audit'`;

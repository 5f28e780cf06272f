/*
 * Rewrites statements for Citus (citus.ts). Only an INSERT of rows from parameters is rewritten; every other statement is sent unchanged.
 * ADR: docs/decisions/0058.
 */

/** An INSERT of rows from parameters, with the tenant as the first column. */
const INSERT_OF_ROWS = /^(INSERT INTO countersign\.\w+ \(tenant_id,[^)]*\)\s+SELECT )\$1(,.*?\sFROM )unnest\(/s;

/** SQL for a row that every tenant has from its creation on. No other SQL uses the names `of_row` and `row_of_tenant`. */
const ROW_OF_TENANT = `(SELECT tenant_id AS of_row FROM countersign.log_heads WHERE tenant_id = $1 AND log = 'audit') AS row_of_tenant`;

const forms = new Map<string, string>();

/**
 * Returns the form of a statement for Citus. In `INSERT ... SELECT $1, ... FROM unnest(...)`, a column of a stored row replaces the tenant
 * $1: Citus then runs the statement on the node of this row. With $1, Citus would collect the rows and send them by COPY, which row-level
 * security does not permit.
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

/** Whether this form of a statement reads the tenant from a stored row (`onCitus`). If that row is missing, it inserts nothing. */
export const needsRowOfTenant = (form: string): boolean => form.includes(ROW_OF_TENANT);

/** Fails with a division by zero if the tenant $1 lacks that row. A transaction with such a statement sends this before COMMIT. */
export const REQUIRE_ROW_OF_TENANT = `SELECT 1 / count(*) AS found FROM countersign.log_heads WHERE tenant_id = $1 AND log = 'audit'`;

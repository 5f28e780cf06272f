import { withoutRowCountCheck } from './stored-rows.ts';

/*
 * Rewrites statements for Citus (citus.ts). Only an INSERT is rewritten; every other statement is sent unchanged.
 * ADR: docs/decisions/0058.
 */

/** An INSERT of rows from parameters, with the tenant as the first column. */
const INSERT_OF_ROWS = /^(INSERT INTO countersign\.\w+ \(tenant_id,[^)]*\)\s+SELECT )\$1(,.*?\sFROM )unnest\(/s;

/** SQL for a row that every tenant has from its creation on. No other SQL uses the names `stored_tenant_id` and `tenant_row`. */
const ROW_OF_TENANT = `(SELECT tenant_id AS stored_tenant_id FROM countersign.log_heads
  WHERE tenant_id = $1 AND log = 'audit') AS tenant_row`;

const forms = new Map<string, string>();

/**
 * Returns the form of a statement for Citus. In `INSERT ... SELECT $1, ... FROM unnest(...)`, a column of a stored row replaces the tenant
 * $1: Citus then runs the statement on the node of this row. With $1, Citus would collect the rows and send them by COPY, which row-level
 * security does not permit. An INSERT that checks the number of its rows loses this check, because Citus rejects an INSERT in WITH.
 */
export function statementForCitus(text: string): string {
  const cachedForm = forms.get(text);
  if (cachedForm !== undefined) return cachedForm;
  const insert = withoutRowCountCheck(text);
  const form = (insert.startsWith('INSERT') ? insert : text).replace(
    INSERT_OF_ROWS,
    `$1tenant_row.stored_tenant_id$2${ROW_OF_TENANT.replaceAll('$', '$$$$')} CROSS JOIN unnest(`,
  );
  forms.set(text, form);
  return form;
}

/** Whether this form of a statement reads the tenant from a stored row. If that row is missing, the statement inserts nothing. */
export const needsRowOfTenant = (form: string): boolean => form.includes(ROW_OF_TENANT);

/**
 * SQL that fails with a division by zero if the tenant $1 has no row in ROW_OF_TENANT. A transaction sends it before COMMIT if one of its
 * statements contains ROW_OF_TENANT.
 */
export const REQUIRE_ROW_OF_TENANT = `SELECT 1 / count(*) AS found FROM countersign.log_heads WHERE tenant_id = $1 AND log = 'audit'`;

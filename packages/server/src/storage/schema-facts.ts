import type pg from 'pg';

/** One object of the schema and its state. */
export interface SchemaFact {
  kind: 'table' | 'sequence' | 'column' | 'constraint' | 'unique index' | 'trigger' | 'rule' | 'policy' | 'function';
  /** The name of a table or a sequence; `TABLE.NAME` of an object of a table; or a function with its argument types. */
  name: string;
  /** The properties of the object that are compared. */
  detail: string;
}

/**
 * Reads only values whose text is the same in every supported version of PostgreSQL: names, codes, types, numbers,
 * booleans, settings, and the hash of the source of functions. The only expressions are the conditions of policies, without the spaces and
 * parentheses that versions write differently.
 */
const FACTS = `
WITH ours AS (SELECT oid, relname, relkind, relpersistence, relrowsecurity, relforcerowsecurity FROM pg_catalog.pg_class
               WHERE relnamespace = 'countersign'::regnamespace),
facts (kind, name, detail) AS (
  SELECT CASE relkind WHEN 'S' THEN 'sequence' ELSE 'table' END, relname::text,
         concat('kind ', relkind, ', persistence ', relpersistence, ', row security ', relrowsecurity, ', forced ', relforcerowsecurity,
         CASE WHEN EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE ours.oid IN (i.inhparent, i.inhrelid)) THEN ', inherits' ELSE '' END)
    FROM ours WHERE relkind NOT IN ('i', 'I', 'c', 't')
  UNION ALL
  SELECT 'column', concat(o.relname, '.', a.attname),
         concat(a.atttypid::regtype, ' not null ', a.attnotnull, ' default ', a.atthasdef, ' generated ', a.attgenerated)
    FROM ours o JOIN pg_catalog.pg_attribute a ON a.attrelid = o.oid AND a.attnum > 0 AND NOT a.attisdropped WHERE o.relkind = 'r'
  UNION ALL
  SELECT 'constraint', concat(o.relname, '.', k.conname), concat('type ', k.contype, ', validated ', k.convalidated, ', columns ',
         (SELECT string_agg(a.attname, ' ' ORDER BY u.place) FROM unnest(k.conkey) WITH ORDINALITY u (num, place)
            JOIN pg_catalog.pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.num))
    FROM ours o JOIN pg_catalog.pg_constraint k ON k.conrelid = o.oid WHERE k.contype NOT IN ('n', 't')
  UNION ALL
  SELECT 'unique index', concat(t.relname, '.', i.relname), concat('valid ', x.indisvalid, ', columns ', x.indkey)
    FROM pg_catalog.pg_index x JOIN ours i ON i.oid = x.indexrelid JOIN ours t ON t.oid = x.indrelid WHERE x.indisunique
  UNION ALL
  SELECT 'trigger', concat(o.relname, '.', t.tgname),
         concat('enabled ', t.tgenabled, ', type ', t.tgtype, ', conditional ', t.tgqual IS NOT NULL, ', calls ', n.nspname, '.', p.proname)
    FROM ours o JOIN pg_catalog.pg_trigger t ON t.tgrelid = o.oid JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid
    JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace WHERE NOT t.tgisinternal
  UNION ALL
  SELECT 'trigger', concat(o.relname, '.', k.conname, ' (of the constraint)'),
         concat('enabled ', string_agg(DISTINCT t.tgenabled::text, ' '))
    FROM ours o JOIN pg_catalog.pg_trigger t ON t.tgrelid = o.oid JOIN pg_catalog.pg_constraint k ON k.oid = t.tgconstraint
   WHERE t.tgisinternal GROUP BY o.relname, k.conname
  UNION ALL
  SELECT 'rule', concat(o.relname, '.', r.rulename), concat('event ', r.ev_type, ', enabled ', r.ev_enabled)
    FROM ours o JOIN pg_catalog.pg_rewrite r ON r.ev_class = o.oid
  UNION ALL
  SELECT 'policy', concat(o.relname, '.', p.polname),
         concat('command ', p.polcmd, ', permissive ', p.polpermissive, ', for all roles ', p.polroles = '{0}',
         ', using ', regexp_replace(pg_get_expr(p.polqual, p.polrelid), '[\\s()]', '', 'g'),
         ', check ', regexp_replace(pg_get_expr(p.polwithcheck, p.polrelid), '[\\s()]', '', 'g'))
    FROM ours o JOIN pg_catalog.pg_policy p ON p.polrelid = o.oid
  UNION ALL
  SELECT 'function', concat(p.proname, '(', array_to_string(p.proargtypes::regtype[], ' '), ')'),
         concat('returns ', p.prorettype::regtype, ', language ', l.lanname,
         ', volatile ', p.provolatile, ', definer ', p.prosecdef, ', settings ', array_to_string(p.proconfig, ' '),
         ', source ', encode(sha256(convert_to(p.prosrc, 'UTF8')), 'hex'))
    FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_language l ON l.oid = p.prolang WHERE p.pronamespace = 'countersign'::regnamespace
)
SELECT kind, name, detail FROM facts ORDER BY kind COLLATE "C", name COLLATE "C"`;

/** Reads the facts of the schema `countersign` from the catalog of the database, sorted by kind and name. */
export async function readSchemaFacts(queryable: Pick<pg.Pool, 'query'>): Promise<SchemaFact[]> {
  const { rows } = await queryable.query<SchemaFact>(FACTS);
  return rows;
}

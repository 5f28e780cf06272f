import { readFileSync } from 'node:fs';
import { migrationsFile } from './migrations-folder.ts';

/** A fact about an object of the schema: its kind, name and details. */
interface Fact {
  kind: string;
  name: string;
  detail: string;
}

/** A difference between the schema of the database and the schema of the migrations. */
export interface SchemaFinding {
  /** The kind and the name of the object, for example `trigger decisions.append_only`. */
  object: string;
  /** How it differs: a clause that follows the object, for example `is missing`. */
  fault: string;
  /** What the operator does about it: an instruction or SQL. */
  remedy: string;
}

/** One line per fact, as in migrations/schema.facts.txt. */
export const factsText = (facts: readonly Fact[]): string =>
  facts.map(({ kind, name, detail }) => `${kind}\t${name}\t${detail}\n`).join('');

let expected: readonly Fact[] | undefined;

/** The facts of this server's migrations. */
function expectedFacts(): readonly Fact[] {
  expected ??= readFileSync(migrationsFile('schema.facts.txt'), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => {
      const [kind = '', name = '', detail = ''] = line.split('\t');
      return { kind, name, detail };
    });
  return expected;
}

/** Returns how the facts of a database differ from the facts of this server's migrations: missing and changed objects, then added ones. */
export function schemaFindings(found: readonly Fact[]): SchemaFinding[] {
  const actual = new Map(found.map((fact) => [objectOf(fact), fact]));
  const known = new Map(expectedFacts().map((fact) => [objectOf(fact), fact]));
  const missing = [...known.values()].flatMap((fact) => {
    const other = actual.get(objectOf(fact));
    if (other === undefined) return [{ object: objectOf(fact), fault: 'is missing', remedy: RESTORE_REMEDY }];
    return other.detail === fact.detail ? [] : [changedFinding(fact, other)];
  });
  const added = found
    .filter((fact) => !known.has(objectOf(fact)))
    .map((fact) => ({ object: objectOf(fact), fault: ADDED, remedy: removalRemedy(fact) }));
  return [...missing, ...added];
}

/** Whether a database has every object of this server's migrations, unchanged. Its triggers may be disabled. */
export const isSchemaComplete = (found: readonly Fact[]): boolean =>
  schemaFindings(found).every(({ fault }) => fault === DISABLED || fault === ADDED);

/** The names of the tables and views, or of the sequences, that this server's migrations create. */
export const namesInSchema = (kind: 'table' | 'sequence'): string[] =>
  expectedFacts().flatMap((fact) => (fact.kind === kind ? [fact.name] : []));

let expectedObjects: ReadonlySet<string> | undefined;

/** Whether this server's migrations create the object. The name of a column is `TABLE.COLUMN`. */
export function isPartOfSchema(kind: 'table' | 'column' | 'sequence', name: string): boolean {
  expectedObjects ??= new Set(expectedFacts().map(objectOf));
  return expectedObjects.has(objectOf({ kind, name }));
}

/** The tables, columns and sequences that no migration created, each with its kind. The columns of an added table are not listed. */
export const addedObjects = (found: readonly Fact[]): string[] =>
  found
    .filter(({ kind, name }) => {
      if (kind === 'column') return isPartOfSchema('table', name.split('.')[0]!) && !isPartOfSchema(kind, name);
      return (kind === 'table' || kind === 'sequence') && !isPartOfSchema(kind, name);
    })
    .map(objectOf);

/**
 * Kinds of objects. If such an object was changed, a backup can miss rows, contain changed ones, or contain rows that a restore rejects.
 */
const KINDS_THAT_AFFECT_ROWS = new Set(['table', 'column', 'constraint', 'policy']);

/**
 * The differences of a database's schema that matter to a backup, one line each. `faults` can make the backup incomplete or unusable;
 * `warnings` are the other differences. Of the objects that no migration created, only triggers and rules are included, and policies of
 * tables that a migration created.
 */
export function findingsOfBackup(found: readonly Fact[]): { faults: string[]; warnings: string[] } {
  const [faults, warnings]: [string[], string[]] = [[], []];
  for (const finding of schemaFindings(found)) {
    const [kind = '', name = ''] = finding.object.split(' ', 2);
    const isAdded = finding.fault === ADDED;
    const isOfOurTable = isPartOfSchema('table', name.split('.')[0]!);
    const line = `the schema was changed: ${describeFinding(finding)}`;
    if (isAdded ? kind === 'policy' && isOfOurTable : KINDS_THAT_AFFECT_ROWS.has(kind)) faults.push(line);
    else if (!isAdded || kind === 'trigger' || kind === 'rule') warnings.push(line);
  }
  return { faults, warnings };
}

const objectOf = ({ kind, name }: Pick<Fact, 'kind' | 'name'>): string => `${kind} ${name}`;

const DISABLED = 'is disabled';
const ADDED = 'is not part of this schema';
const RESTORE_REMEDY = 'restore its definition from the migrations, or restore a backup';

function changedFinding(fact: Fact, other: Fact): SchemaFinding {
  const object = objectOf(fact);
  const isDisabled = fact.kind === 'trigger' && other.detail === fact.detail.replace(/^enabled \w/, 'enabled D');
  if (!isDisabled)
    return { object, fault: `is ${JSON.stringify(other.detail)}, not ${JSON.stringify(fact.detail)}`, remedy: RESTORE_REMEDY };
  const [table, trigger = ''] = fact.name.split('.');
  const clause = fact.detail.startsWith('enabled A') ? `ENABLE ALWAYS TRIGGER ${trigger}` : 'ENABLE TRIGGER ALL';
  return { object, fault: DISABLED, remedy: `ALTER TABLE countersign.${table} ${clause}` };
}

function removalRemedy({ kind, name }: Fact): string {
  const [table, nameInTable] = name.split('.');
  if (nameInTable !== undefined && ['trigger', 'rule', 'policy'].includes(kind))
    return `DROP ${kind.toUpperCase()} "${nameInTable}" ON countersign.${table}`;
  return 'find out who created it, then drop it';
}

/** One line about a finding. */
export const describeFinding = ({ object, fault, remedy }: SchemaFinding): string => `${object} ${fault}; remedy: ${remedy}`;

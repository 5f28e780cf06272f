import { readFileSync } from 'node:fs';
import { migrationsFile } from './migrate.ts';

/** An object of the schema, by its kind and name, and what must be so of it. */
interface Fact {
  kind: string;
  name: string;
  detail: string;
}

/** A difference between the database's schema and the one that the migrations make. */
export interface SchemaFinding {
  /** `trigger decisions.append_only`, for example. */
  object: string;
  fault: string;
  remedy: string;
}

/** One line a fact, as migrations/schema.facts.txt holds them. */
export const factsText = (facts: readonly Fact[]): string =>
  facts.map(({ kind, name, detail }) => `${kind}\t${name}\t${detail}\n`).join('');

let expected: readonly Fact[] | undefined;

/** The facts that the migrations of this server make. */
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

/** Where the facts of a database differ from those of this server's migrations, in the order of the facts. */
export function schemaFindings(found: readonly Fact[]): SchemaFinding[] {
  const stands = new Map(found.map((fact) => [objectOf(fact), fact]));
  const known = new Map(expectedFacts().map((fact) => [objectOf(fact), fact]));
  const missing = [...known.values()].flatMap((fact) => {
    const other = stands.get(objectOf(fact));
    if (other === undefined) return [{ object: objectOf(fact), fault: 'is missing', remedy: RESTORE }];
    return other.detail === fact.detail ? [] : [changed(fact, other)];
  });
  const added = found
    .filter((fact) => !known.has(objectOf(fact)))
    .map((fact) => ({ object: objectOf(fact), fault: 'is not part of this schema', remedy: removal(fact) }));
  return [...missing, ...added];
}

const objectOf = ({ kind, name }: Fact): string => `${kind} ${name}`;

const RESTORE = 'make it as the migrations do, or restore a backup';

function changed(fact: Fact, other: Fact): SchemaFinding {
  const object = objectOf(fact);
  const isDisabled = fact.kind === 'trigger' && other.detail === fact.detail.replace(/^enabled \w/, 'enabled D');
  if (!isDisabled)
    return { object, fault: `is ${JSON.stringify(other.detail)}, not ${JSON.stringify(fact.detail)}`, remedy: RESTORE };
  const [table, trigger = ''] = fact.name.split('.');
  const how = fact.detail.startsWith('enabled A') ? `ENABLE ALWAYS TRIGGER ${trigger}` : 'ENABLE TRIGGER ALL';
  return { object, fault: 'is disabled', remedy: `ALTER TABLE countersign.${table} ${how}` };
}

function removal({ kind, name }: Fact): string {
  const [table, own] = name.split('.');
  if (own !== undefined && ['trigger', 'rule', 'policy'].includes(kind))
    return `DROP ${kind.toUpperCase()} "${own}" ON countersign.${table}`;
  return 'find out who has made it, then drop it';
}

/** One line about a finding. */
export const describeFinding = ({ object, fault, remedy }: SchemaFinding): string => `${object} ${fault}; remedy: ${remedy}`;

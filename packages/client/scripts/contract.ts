/**
 * Writes src/wire/contract.ts: the contract's schemas as plain TypeScript, so that the published declarations need no schema library.
 * Run `sh scripts/run.sh packages/client/scripts/contract.ts` after a change of packages/core/src/contract. A test compares the file with
 * the schemas.
 */
import { writeFileSync } from 'node:fs';
import { AuditEntry, AuditEntryAppended } from '@countersign/core/contract/audit-entry';
import { CaseCounts } from '@countersign/core/contract/case-counts';
import { DetailedEvaluation, DetailedEvaluationAccepted, EvaluationSuite } from '@countersign/core/contract/detailed-evaluation';
import { ErrorBody } from '@countersign/core/contract/errors';
import { Evaluation, EvaluationAccepted } from '@countersign/core/contract/evaluation';
import { Issue } from '@countersign/core/contract/issue';
import { Message } from '@countersign/core/contract/message';
import { ConditionCheck, DecidedEvaluation, PromotionCheck, PromotionDecision } from '@countersign/core/contract/promotion-check';
import { TelemetryAccepted, TelemetryEvent } from '@countersign/core/contract/telemetry';
import { Span, Trace, TraceAccepted } from '@countersign/core/contract/trace';

/** The members of a JSON Schema that this script reads. */
interface Schema {
  $id?: string;
  type?: string | readonly string[];
  enum?: readonly unknown[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: readonly string[];
  description?: string;
  default?: unknown;
  'x-schema'?: Schema;
}

/** The written types in order, with a description if the schema has none. */
const SCHEMAS: readonly [name: string, schema: object, description?: string][] = [
  ['Message', Message],
  ['Span', Span],
  ['Trace', Trace],
  ['TraceAccepted', TraceAccepted, 'Response to a trace.'],
  ['TelemetryEvent', TelemetryEvent],
  ['TelemetryAccepted', TelemetryAccepted, 'Response to telemetry events.'],
  ['Evaluation', Evaluation],
  ['EvaluationAccepted', EvaluationAccepted, 'Response to an evaluation.'],
  ['CaseCounts', CaseCounts],
  ['EvaluationSuite', EvaluationSuite],
  ['DetailedEvaluation', DetailedEvaluation],
  ['DetailedEvaluationAccepted', DetailedEvaluationAccepted, 'Response to a detailed evaluation.'],
  ['AuditEntry', AuditEntry],
  ['AuditEntryAppended', AuditEntryAppended, 'Response to an audit entry: its hash and its link to the previous entry.'],
  ['PromotionCheck', PromotionCheck],
  ['ConditionCheck', ConditionCheck, 'One of the four conditions of a decision, as evaluated.'],
  ['DecidedEvaluation', DecidedEvaluation, 'The evaluation that a decision is based on.'],
  ['PromotionDecision', PromotionDecision],
  ['Issue', Issue],
  ['ErrorBody', ErrorBody],
];

/** Types of members that cannot be derived from their JSON Schemas. */
const TYPE_OVERRIDES: Record<string, string> = {
  'PromotionDecision.evaluation': 'DecidedEvaluation | NoEvaluation',
};

/** Types that require at least one of two members. Their JSON Schemas do not contain this rule. */
const ANY_OF: Record<string, string> = {
  PromotionCheck: '({ agent_id: string } | { agent_name: string })',
};

/** Text to write after a type. */
const TEXT_AFTER: Record<string, string> = {
  DecidedEvaluation:
    '\n/** Replaces the evaluation if a decision has none: `{}`. */\nexport type NoEvaluation = { [Member in keyof DecidedEvaluation]?: undefined };\n',
};

const names = new Map(SCHEMAS.map(([name, schema]) => [schema, name]));

/** The whole file. */
export function contractSource(): string {
  const head = [
    '// Generated from the schemas of @countersign/core. Do not edit: run `sh scripts/run.sh packages/client/scripts/contract.ts`.',
    '// The members have the same names as in JSON. In a request, `null` is the same as an absent member.',
  ];
  return (
    [head.join('\n'), ...SCHEMAS.map(([name, schema, description]) => interfaceOf(name, schema as Schema, description))].join(
      '\n\n',
    ) + '\n'
  );
}

function interfaceOf(name: string, schema: Schema, description?: string): string {
  const members = Object.entries(schema.properties ?? {}).map(([member, memberSchema]) => {
    const isRequired = schema.required?.includes(member) === true;
    const type = TYPE_OVERRIDES[`${name}.${member}`] ?? typeOf(memberSchema);
    // JSON leaves out members that are undefined, so callers with exactOptionalPropertyTypes may pass undefined.
    const memberType = isRequired || type === 'unknown' ? type : `${type} | undefined`;
    return commentOf(memberSchema, '  ') + wrapLine(`  ${member}${isRequired ? '' : '?'}: ${memberType};\n`);
  });
  const head = commentOf({ ...schema, description: schema.description ?? description! }, '');
  const anyOf = ANY_OF[name];
  if (anyOf !== undefined) return `${head}export type ${name} = {\n${members.join('')}} & ${anyOf};`;
  return `${head}export interface ${name} {\n${members.join('')}}${TEXT_AFTER[name]?.replace(/\n$/, '').replace(/^\n/, '\n\n') ?? ''}`;
}

/** Breaks a line that is too long, as the formatter does. */
const wrapLine = (line: string): string =>
  line.length <= LINE_WIDTH + 1 ? line : line.replace(/: /, ' | ').replaceAll(' | ', '\n    | ').replace('\n', ':\n');

const LINE_WIDTH = 130;

function commentOf({ description, default: fallback }: Schema, indent: string): string {
  const sentences = [description, fallback === undefined ? undefined : `Default: ${JSON.stringify(fallback)}.`];
  return `${indent}/** ${sentences.filter((text) => text !== undefined).join(' ')} */\n`;
}

function typeOf(schema: Schema): string {
  const knownName = names.get(schema);
  if (knownName !== undefined) return knownName;
  if (schema['x-schema'] !== undefined) return `${typeOf(schema['x-schema'])} | null`;
  if (schema.enum !== undefined) return schema.enum.map(literal).join(' | ');
  if (schema.type === undefined) return 'unknown';
  return [schema.type]
    .flat()
    .map((type) => typeNamed(type, schema))
    .join(' | ');
}

const literal = (value: unknown): string => (typeof value === 'string' ? `'${value}'` : JSON.stringify(value));

function typeNamed(type: string, { items }: Schema): string {
  switch (type) {
    case 'array':
      return items === undefined ? 'unknown[]' : `${typeOf(items)}[]`;
    case 'object':
      return 'Record<string, unknown>';
    case 'integer':
      return 'number';
    default:
      return type;
  }
}

if (import.meta.main) writeFileSync(new URL('../src/wire/contract.ts', import.meta.url), contractSource());

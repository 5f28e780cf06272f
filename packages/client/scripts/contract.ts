/**
 * Writes src/wire/contract.ts: the contract's schemas as plain TypeScript, so that the published declarations need no schema library.
 * `node packages/client/scripts/contract.ts` after a change of packages/core/src/contract; a test holds the file current.
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

/** The JSON Schema of one member, as far as the contract uses it. */
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

/** What is written, in this order, and what is said of it where the schema says nothing. */
const SCHEMAS: readonly [name: string, schema: object, description?: string][] = [
  ['Message', Message],
  ['Span', Span],
  ['Trace', Trace],
  ['TraceAccepted', TraceAccepted, 'Answer to a trace.'],
  ['TelemetryEvent', TelemetryEvent],
  ['TelemetryAccepted', TelemetryAccepted, 'Answer to telemetry events.'],
  ['Evaluation', Evaluation],
  ['EvaluationAccepted', EvaluationAccepted, 'Answer to an evaluation.'],
  ['CaseCounts', CaseCounts],
  ['EvaluationSuite', EvaluationSuite],
  ['DetailedEvaluation', DetailedEvaluation],
  ['DetailedEvaluationAccepted', DetailedEvaluationAccepted, 'Answer to a detailed evaluation.'],
  ['AuditEntry', AuditEntry],
  ['AuditEntryAppended', AuditEntryAppended, 'Answer to an audit entry: its proof of inclusion.'],
  ['PromotionCheck', PromotionCheck],
  ['ConditionCheck', ConditionCheck, 'One of the four conditions of a decision, as evaluated.'],
  ['DecidedEvaluation', DecidedEvaluation, 'The evaluation that a decision rests on.'],
  ['PromotionDecision', PromotionDecision],
  ['Issue', Issue],
  ['ErrorBody', ErrorBody],
];

/** Members whose JSON Schema cannot say what their static type says. */
const SAID_OTHERWISE: Record<string, string> = {
  'PromotionDecision.evaluation': 'DecidedEvaluation | NoEvaluation',
};

/** Types whose JSON Schema cannot say that one of two members must be there. */
const ONE_OF: Record<string, string> = {
  PromotionCheck: '({ agent_id: string } | { agent_name: string })',
};

/** What is written after a type. */
const BESIDE: Record<string, string> = {
  DecidedEvaluation:
    '\n/** In place of the evaluation where there is none: `{}`. */\nexport type NoEvaluation = { [Member in keyof DecidedEvaluation]?: undefined };\n',
};

const names = new Map(SCHEMAS.map(([name, schema]) => [schema, name]));

/** The whole file. */
export function contractSource(): string {
  const head = [
    '// Made from the schemas of @countersign/core by scripts/contract.ts. Do not edit.',
    '// Members have the names that travel. In a request `null` is the same as leaving the member out.',
  ];
  return (
    [head.join('\n'), ...SCHEMAS.map(([name, schema, said]) => interfaceOf(name, schema as Schema, said))].join('\n\n') + '\n'
  );
}

function interfaceOf(name: string, schema: Schema, said?: string): string {
  const members = Object.entries(schema.properties ?? {}).map(([member, of]) => {
    const isRequired = schema.required?.includes(member) === true;
    const type = SAID_OTHERWISE[`${name}.${member}`] ?? typeOf(of);
    // Explicit undefined is what JSON leaves out: callers with exactOptionalPropertyTypes may pass it.
    const admitted = isRequired || type === 'unknown' ? type : `${type} | undefined`;
    return comment(of, '  ') + wrapped(`  ${member}${isRequired ? '' : '?'}: ${admitted};\n`);
  });
  const head = comment({ ...schema, description: schema.description ?? said! }, '');
  const oneOf = ONE_OF[name];
  if (oneOf !== undefined) return `${head}export type ${name} = {\n${members.join('')}} & ${oneOf};`;
  return `${head}export interface ${name} {\n${members.join('')}}${BESIDE[name]?.replace(/\n$/, '').replace(/^\n/, '\n\n') ?? ''}`;
}

/** As the formatter would have it. */
const wrapped = (line: string): string =>
  line.length <= LINE_WIDTH + 1 ? line : line.replace(/: /, ' | ').replaceAll(' | ', '\n    | ').replace('\n', ':\n');

const LINE_WIDTH = 130;

function comment({ description, default: fallback }: Schema, indent: string): string {
  const said = [description, fallback === undefined ? undefined : `Default: ${JSON.stringify(fallback)}.`];
  return `${indent}/** ${said.filter((text) => text !== undefined).join(' ')} */\n`;
}

function typeOf(schema: Schema): string {
  const known = names.get(schema);
  if (known !== undefined) return known;
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

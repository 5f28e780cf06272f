import type { Issue, IssueCode } from '@countersign/core/contract/issue';
import { ISSUES_MAX, jsonPointer } from '@countersign/core/contract/json-pointer';
import type { Operation } from '@countersign/core/contract/operations';
import { DIGEST_PATTERN, SHA256_PATTERN } from '@countersign/core/contract/scalars';
import { findInexactParts } from '@countersign/core/domain/exact-json';
import { isCalendarDate, isDateTime } from '@countersign/core/domain/instant';
import { isNestedDeeperThan } from '@countersign/core/domain/nesting';
import { PASSWORD_BYTES_MAX } from '@countersign/core/portal/identity-fields';
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import type { TSchema } from 'typebox';
import { ApiError, validationFailed } from '../errors/api-error.ts';
import { isEmailAddress } from '../people/email-address.ts';
import { isPersonName } from '../people/person-name.ts';
import { BODY_BOUNDS } from './body-bounds.ts';
import { explain, unknownMember } from './explain-issue.ts';
import { parseJson } from './parse-json.ts';
import { isPersonal } from './personal-data.ts';
import { isWebAddress } from './web-address.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The formats that the schemas of the public API and of the portal use. */
const formats = {
  uuid: UUID,
  'date-time': isDateTime,
  date: isCalendarDate,
  email: isEmailAddress,
  'person-name': isPersonName,
  password: (text: string) => text.isWellFormed() && Buffer.byteLength(text) <= PASSWORD_BYTES_MAX,
  'opaque-user-id': (text: string) => !isPersonal(text),
  digest: new RegExp(DIGEST_PATTERN),
  sha256: new RegExp(SHA256_PATTERN),
  'web-address': isWebAddress,
};

// No coercion, no defaults, no removal: the body is validated unchanged.
const options = {
  strict: true,
  strictTypes: false,
  allowUnionTypes: true,
  formats,
  keywords: ['x-means', 'x-pattern', 'x-schema'],
};
const firstErrorAjv = new Ajv({ ...options });
const allErrorsAjv = new Ajv({ ...options, allErrors: true, verbose: true });

/**
 * Creates a function that parses and validates the bodies of one operation. That function returns the typed body, or throws an ApiError
 * with up to 100 issues. Validation stops at the first error. If there is one, the body is validated again to list the errors.
 */
export function bodyReader<Body>(operation: Operation<Body, unknown>): (document: Buffer) => Body {
  const numbers = new Set(operation.bodies.flatMap(numbersOf));
  const isStrict = operation.kind === 'record';
  return (document) => {
    const { text, value } = parseJson(document, BODY_BOUNDS[operation.kind]);
    if (isNestedDeeperThan(value, operation.depthMax)) {
      const message = `the body is nested more deeply than ${operation.depthMax} levels; flatten it`;
      throw validationFailed({ path: '', code: 'too_deep', message });
    }
    const schema = operation.formOf(value);
    const issues = isStrict ? findInexactParts(text, numbers) : [];
    if (!validatorOf(schema)(value)) issues.push(...collectIssues(schema, value, []));
    if (isObject(value)) issues.push(...operation.ruleViolations(value));
    if (issues.length > 0) throw new ApiError('validation_failed', issues.slice(0, ISSUES_MAX));
    return value as Body;
  };
}

/** The names of the top-level members that must be numbers. */
const numbersOf = ({ properties = {} }: ObjectSchema): string[] =>
  Object.keys(properties).filter((name) =>
    [properties[name]?.type].flat().some((type) => type === 'number' || type === 'integer'),
  );

/** Validates a value against a schema. Returns up to 100 issues. */
export const findIssues = (schema: TSchema, value: unknown): Issue[] =>
  validatorOf(schema)(value) ? [] : collectIssues(schema, value, []).slice(0, ISSUES_MAX);

const validators = new WeakMap<TSchema, ValidateFunction>();

/** The validator of a schema, compiled when it is first used. Compiling all schemas takes a fifth of the startup time. */
function validatorOf(schema: TSchema): ValidateFunction {
  let validator = validators.get(schema);
  if (validator === undefined) {
    // The $id is removed, because Ajv may already know it as the name of a part of another schema.
    const { $id: _, ...unnamed } = schema as TSchema & { $id?: string };
    validator = firstErrorAjv.compile(unnamed);
    validators.set(schema, validator);
  }
  return validator;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

type Steps = readonly (string | number)[];
type ObjectSchema = TSchema & {
  properties?: Record<string, TSchema & { type?: string | string[]; items?: ObjectSchema }>;
  additionalProperties?: boolean;
};

/**
 * The issues of one object, then those of nested objects and list items. The list may exceed ISSUES_MAX a little; the callers cut it. List
 * items are validated one by one. If Ajv validated the whole list, it would create an error object for each of millions of invalid items.
 */
function collectIssues(schema: ObjectSchema, value: unknown, at: Steps): Issue[] {
  const shallow = shallowValidator(schema);
  const errors = shallow(value) ? [] : withoutRepeatedErrors(shallow.errors ?? []);
  const issues = errors.slice(0, ISSUES_MAX).map((error) => issueOf(error, at));
  if (!isObject(value)) return issues;
  issues.push(...unknownMembers(schema, value, at, ISSUES_MAX - issues.length));
  for (const [name, member] of objectsOf(schema))
    if (isObject(value[name])) issues.push(...collectIssues(member, value[name], [...at, name]));
  for (const [name, { items }] of listsOf(schema)) {
    const list = value[name];
    if (!Array.isArray(list)) continue;
    for (const [index, item] of list.entries()) {
      if (issues.length >= ISSUES_MAX) return issues;
      issues.push(...collectIssues(items, item, [...at, name, index]));
    }
  }
  return issues;
}

/**
 * The issues of unknown members, at most `max`. `shallowValidator` does not check them: Ajv would create an error for each, and one
 * megabyte can contain 100,000 unknown members.
 */
function unknownMembers(schema: ObjectSchema, value: Record<string, unknown>, at: Steps, max: number): Issue[] {
  const { properties = {}, additionalProperties } = schema;
  const issues: Issue[] = [];
  if (additionalProperties !== false) return issues;
  for (const name in value) {
    if (issues.length >= max) break;
    if (!Object.hasOwn(properties, name)) issues.push(issueAt([...at, name], unknownMember(name, Object.keys(properties))));
  }
  return issues;
}

/** Removes errors that repeat another one: `enum` for a value of the wrong type, and `pattern` for a date, because `format` covers it. */
function withoutRepeatedErrors(errors: readonly ErrorObject[]): ErrorObject[] {
  const wrongType = new Set(errors.filter(({ keyword }) => keyword === 'type').map(({ instancePath }) => instancePath));
  return errors.filter(({ keyword, instancePath, parentSchema }) => {
    if (keyword === 'pattern') return parentSchema?.format !== 'date';
    return keyword !== 'enum' || !wrongType.has(instancePath);
  });
}

const listsOf = (schema: ObjectSchema): [string, { items: ObjectSchema }][] =>
  Object.entries(schema.properties ?? {}).filter(
    (entry): entry is [string, TSchema & { items: ObjectSchema }] => entry[1].items !== undefined,
  );

/** The members that are objects whose schema names their members. */
const objectsOf = (schema: ObjectSchema): [string, ObjectSchema][] =>
  Object.entries(schema.properties ?? {}).filter(([, member]) => (member as ObjectSchema).properties !== undefined);

const shallowValidators = new WeakMap<TSchema, ValidateFunction>();

/** The validator of an object. It does not check the contents of nested objects and lists, and it accepts unknown members. */
function shallowValidator(schema: ObjectSchema): ValidateFunction {
  let validator = shallowValidators.get(schema);
  if (validator === undefined) {
    const properties = Object.fromEntries(
      Object.entries(schema.properties ?? {}).map(([name, member]) => [name, withoutContent(member)]),
    );
    const { $id: _, additionalProperties: __, ...rest } = schema as ObjectSchema & { $id?: string };
    validator = allErrorsAjv.compile({ ...rest, properties });
    shallowValidators.set(schema, validator);
  }
  return validator;
}

/** A member's schema without the schema of its items or members. */
const withoutContent = (member: TSchema): object =>
  Object.fromEntries(Object.entries(member).filter(([keyword]) => !CONTENT_KEYWORDS.has(keyword)));
const CONTENT_KEYWORDS = new Set(['items', 'properties', 'required', 'additionalProperties']);

function issueOf(error: ErrorObject, at: Steps): Issue {
  const steps = [...at, ...error.instancePath.split('/').slice(1).map(unescapeStep)];
  const { missingProperty: member } = error.params as { missingProperty?: string };
  const issueSteps = member === undefined ? steps : [...steps, member];
  return issueAt(issueSteps, explain(error, memberName(issueSteps)));
}

/** The name of a place in messages: `kind`, `spans[3]`, or `the body`. */
function memberName(steps: Steps): string {
  const last = steps.at(-1);
  return typeof last === 'number' ? `${steps.at(-2)}[${last}]` : (last ?? 'the body');
}

const issueAt = (steps: Steps, { code, message }: { code: IssueCode; message: string }): Issue => ({
  path: jsonPointer(steps).toWellFormed(),
  code,
  message: message.toWellFormed(),
});

const unescapeStep = (step: string): string => step.replaceAll('~1', '/').replaceAll('~0', '~');

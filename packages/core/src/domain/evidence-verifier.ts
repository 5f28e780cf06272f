import { canonicalJson, NotCanonicalError } from './canonical-json.ts';
import type { Digests } from './digests.ts';
import { decideFromEvidence, type EvidenceDocument, REQUEST_MEMBERS, statesRequest } from './evidence-document.ts';
import { isDateTime } from './instant.ts';
import { isNestedDeeperThan } from './nesting.ts';
import { POLICY } from './promotion.ts';
import { shorten } from './shorten.ts';

/** The maximum nesting of an evidence document. */
const DEPTH_MAX = 4;

/**
 * Returns why a decision does not follow from its evidence; undefined if it does. The text must have the digest that the decision names,
 * and deciding again must give the same verdict. Messages for people are not compared, because later versions may reword them. The
 * signature of the decision is not verified.
 * @param text the evidence document, as canonical JSON.
 */
export function evidenceFault(
  decision: Record<string, unknown>,
  text: string,
  digests: Pick<Digests, 'sha256Hex'>,
): string | undefined {
  const { evidence_sha256: statedDigest } = decision;
  if (statedDigest === undefined)
    return 'the decision names no evidence, because an older version of the service signed the decision';
  const computed = digests.sha256Hex(text);
  if (statedDigest !== computed)
    return (
      `evidence_sha256 is ${JSON.stringify(statedDigest)}, but the evidence hashes to ${computed}: ` +
      'it was altered, or it belongs to another decision'
    );
  const document = readEvidence(text);
  return 'fault' in document ? document.fault : verdictDifference(decision, document.value);
}

/** Parses an evidence document, or returns its fault. A version or policy that this code does not support is a fault. */
export function readEvidence(text: string): { value: EvidenceDocument } | { fault: string } {
  const value = parseJson(text);
  if (!isObject(value) || isNestedDeeperThan(value, DEPTH_MAX))
    return { fault: 'the evidence is not a JSON object, or is nested too deeply' };
  if (value.version !== 1)
    return { fault: `the evidence has version ${JSON.stringify(value.version)}; this verifier supports only 1` };
  if (value.policy !== POLICY)
    return { fault: `the evidence is for the policy ${JSON.stringify(value.policy)}; this verifier supports only ${POLICY}` };
  const invalid = invalidMember(value, DOCUMENT_MEMBERS);
  if (invalid !== undefined) return { fault: `the member ${invalid} of the evidence is missing, malformed or unknown` };
  if (canonicalText(value) !== text) return { fault: 'the evidence is not canonical JSON (RFC 8785)' };
  return { value: value as unknown as EvidenceDocument };
}

/**
 * Describes the first member of a decision that differs from the verdict on the evidence; undefined if none differs. If the decision
 * states its request, the request must equal the request in the evidence.
 * @param isSameAge whether two values of `evaluation_age` count as equal. By default they must be equal. Pass a function if the time at
 *   which the evidence was read is known only approximately.
 */
export function verdictDifference(
  decision: Record<string, unknown>,
  document: EvidenceDocument,
  isSameAge?: (signed: unknown, computed: number | null) => boolean,
): string | undefined {
  const { message: _, checks, ...verdict } = decideFromEvidence(document);
  if (isSameAge?.(decision.evaluation_age, verdict.evaluation_age)) verdict.evaluation_age = decision.evaluation_age as number;
  const expected: Record<string, unknown> = { ...verdict, tenant_id: document.tenant_id, checks: checks.map(withoutMessage) };
  if (!statesRequest(decision)) for (const name of REQUEST_MEMBERS) delete expected[name];
  const signed: Record<string, unknown> = {
    ...decision,
    checks: Array.isArray(decision.checks) ? decision.checks.map(withoutMessage) : decision.checks,
  };
  for (const [name, value] of Object.entries(expected)) {
    const [signedText, computedText] = [canonicalText(signed[name]), canonicalText(value)];
    if (signedText !== computedText)
      return (
        `${name} does not follow from the evidence: the signed value is ${valueInWords(signedText)}, ` +
        `but the evidence gives ${valueInWords(computedText)}`
      );
  }
  return undefined;
}

const withoutMessage = (check: unknown): unknown => {
  if (!isObject(check)) return check;
  const { message: _, ...rest } = check;
  return rest;
};

const valueInWords = (text: string | undefined): string => (text === undefined ? 'nothing' : shorten(text, 200));

function canonicalText(value: unknown): string | undefined {
  try {
    return canonicalJson(value);
  } catch (error) {
    if (error instanceof NotCanonicalError || error instanceof RangeError) return undefined;
    throw error;
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

type Form = (value: unknown) => boolean;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isText: Form = (value) => typeof value === 'string';
const isNumber: Form = (value) => typeof value === 'number';
const isInstant: Form = (value) =>
  typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(value) && isDateTime(value);
const orNull =
  (isOfForm: Form): Form =>
  (value) =>
    value === null || isOfForm(value);
const objectOf =
  (forms: Record<string, Form>): Form =>
  (value) =>
    isObject(value) && invalidMember(value, forms) === undefined;
const listOf =
  (isOfForm: Form): Form =>
  (value) =>
    Array.isArray(value) && value.every(isOfForm);

/** The first member that is missing, malformed or unknown. */
function invalidMember(value: Record<string, unknown>, forms: Record<string, Form>): string | undefined {
  return (
    Object.keys(forms).find((name) => !Object.hasOwn(value, name) || !forms[name]!(value[name])) ??
    Object.keys(value).find((name) => !Object.hasOwn(forms, name))
  );
}

const EVALUATION_MEMBERS = {
  evaluated_at: orNull(isInstant),
  name: isText,
  pass_rate: orNull(isNumber),
  recorded_at: isInstant,
  status: isText,
};

/** The members of an evidence document, version 1. */
const DOCUMENT_MEMBERS: Record<string, Form> = {
  agent: orNull(objectOf({ id: isText, name: isText, risk_level: isText })),
  approval: orNull(objectOf({ decided_at: isInstant, status: isText })),
  asked: objectOf({
    agent_id: orNull(isText),
    agent_name: orNull(isText),
    harness_id: orNull(isText),
    max_age_hours: isNumber,
    min_pass_rate: isNumber,
  }),
  evaluation: orNull(
    objectOf({ ...EVALUATION_MEMBERS, category: orNull(isText), harness_id: orNull(isText), id: isText, recorded_by: isText }),
  ),
  open_recertifications: isNumber,
  other_evaluations: listOf(objectOf({ ...EVALUATION_MEMBERS, suite: orNull(isText) })),
  policy: isText,
  read_at: isInstant,
  similar_names: listOf(isText),
  tenant_id: isText,
  version: isNumber,
};

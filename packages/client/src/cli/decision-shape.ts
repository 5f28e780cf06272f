const CONDITIONS = ['recent_passing_evaluation', 'pass_rate', 'high_risk_approval', 'recertification'];
const REASONS = [
  'no_recent_evaluation',
  'evaluation_not_passing',
  'pass_rate_below_threshold',
  'approval_required',
  'approval_rejected',
  'recertification_open',
];

type Test = (value: unknown) => boolean;

const isText: Test = (value) => typeof value === 'string' && value !== '';
const isId: Test = (value) => typeof value === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value);
const isNumber: Test = (value) => typeof value === 'number' && Number.isFinite(value);
const isInstant: Test = (value) =>
  typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value) && !Number.isNaN(Date.parse(value));
const orNull =
  (test: Test): Test =>
  (value) =>
    value === null || test(value);
/** Also accepts a missing member, because older versions of the service do not send it, or because it depends on the request. */
const optional =
  (test: Test): Test =>
  (value) =>
    value === undefined || test(value);
const isHash: Test = (value) => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);

/** The members of every decision (docs/formats.md, "Promotion decision"). Other members are allowed, because later versions add some. */
const DECISION: Record<string, Test> = {
  allowed: (value) => typeof value === 'boolean',
  reason: (value) => value === 'all_conditions_met' || REASONS.includes(value as string),
  message: isText,
  event: isText,
  evaluation_id: orNull(isId),
  agent_id: orNull(isId),
  policy: isText,
  threshold: isNumber,
  required_threshold: isNumber,
  actual_threshold: orNull(isNumber),
  evaluation_age: orNull(isNumber),
  evaluation: (value) => isObject(value) && (Object.keys(value).length === 0 || isEvaluation(value)),
  checks: (value) => Array.isArray(value) && value.length === CONDITIONS.length && value.every(isCheck),
  decision_id: isId,
  key_id: isText,
  timestamp: isInstant,
  response_sha256: isHash,
  signature: isHash,
  signature_alg: (value) => value === 'HMAC-SHA256',
  asked_by: optional(isText),
  evidence_sha256: optional(isHash),
  evidence_size: optional(isNumber),
  harness_id: optional(orNull(isId)),
  max_age_hours: optional(isNumber),
  nonce: optional(isText),
};

const EVALUATION: Record<string, Test> = {
  id: isId,
  name: isText,
  status: isText,
  pass_rate: orNull(isNumber),
  harness_id: orNull(isId),
  recorded_at: isInstant,
  recorded_by: isText,
  category: optional(orNull(isText)),
  evaluated_at: optional(isInstant),
  agent_name: optional(isText),
};

const isEvaluation = (value: Record<string, unknown>): boolean => invalidMember(value, EVALUATION) === undefined;

/** Whether a value is the check at this index. The order is fixed, so that a missing or repeated condition does not count as passed. */
function isCheck(value: unknown, index: number): boolean {
  if (!isObject(value) || value.condition !== CONDITIONS[index] || !isText(value.message)) return false;
  if (value.passed === true) return value.reason === null;
  return value.passed === false && REASONS.includes(value.reason as string);
}

/** Why a value does not have the form of a decision, of any version; undefined if it has this form. */
export function shapeFault(value: unknown): string | undefined {
  if (!isObject(value)) return 'it is not a decision: it is not a JSON object';
  const member = invalidMember(value, DECISION);
  if (member === undefined) return undefined;
  return `it is not a decision of this service: ${member} is ${Object.hasOwn(value, member) ? 'invalid' : 'missing'}`;
}

const invalidMember = (value: Record<string, unknown>, tests: Record<string, Test>): string | undefined =>
  Object.keys(tests).find((member) => !tests[member]!(Object.hasOwn(value, member) ? value[member] : undefined));

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

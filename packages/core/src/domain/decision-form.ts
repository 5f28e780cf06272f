import { isHash, isInstant, isUuid } from './member-forms.ts';

/** The members of a decision whose forms decisionFormFault checks. The digest also covers members that are not in this list. */
const MEMBERS = [
  { name: 'allowed', isOfForm: (value: unknown) => typeof value === 'boolean', form: 'true or false' },
  { name: 'reason', isOfForm: isText, form: 'a string' },
  { name: 'decision_id', isOfForm: isText, form: 'a string' },
  { name: 'key_id', isOfForm: isText, form: 'a string' },
  { name: 'timestamp', isOfForm: isInstant, form: 'UTC with milliseconds' },
  { name: 'response_sha256', isOfForm: isHash, form: '64 lower-case hex digits' },
  { name: 'signature', isOfForm: isHash, form: '64 lower-case hex digits' },
  { name: 'signature_alg', isOfForm: (value: unknown) => value === 'HMAC-SHA256', form: 'HMAC-SHA256' },
  // Decisions of earlier versions do not name their workspace.
  { name: 'tenant_id', isOfForm: (value: unknown) => value === undefined || isUuid(value), form: 'a UUID in lower case' },
] as const;

/** A decision for which decisionFormFault found no fault. Its digest and signature are not verified. */
export interface DecisionMembers extends Record<string, unknown> {
  allowed: boolean;
  reason: string;
  decision_id: string;
  key_id: string;
  timestamp: string;
  response_sha256: string;
  tenant_id?: string;
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

/** Returns the fault of the first missing or malformed member of a decision; undefined if there is none. The decision is untrusted. */
export function decisionFormFault(decision: Readonly<Record<string, unknown>>): string | undefined {
  const malformed = MEMBERS.find(({ name, isOfForm }) => !isOfForm(Object.hasOwn(decision, name) ? decision[name] : undefined));
  return malformed === undefined ? undefined : `${malformed.name} is not ${malformed.form}`;
}

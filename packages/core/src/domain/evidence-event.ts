import type { EvaluationStatus } from '../contract/evaluation.ts';
import { canonicalJson, NotCanonicalError } from './canonical-json.ts';
import type { Digests } from './digests.ts';
import { type LogPosition, positionFault } from './log-position.ts';
import { isExactInstant, isHash, isInstant, isRecordedBy, isUuid, orNull } from './member-forms.ts';

/** Prefix of the hashed text: the kind and version, so that texts of other kinds have other hashes (docs/formats.md, "Evidence event"). */
export const EVIDENCE_DOMAIN = 'countersign/evidence/v1\n';

/**
 * A fact in the evidence log. Promotion checks depend only on these facts, on the request and on the time. The table of agents only limits
 * which of the known names a message suggests.
 */
export type EvidenceFact =
  | { action: 'agent.registered'; agent_id: string; agent_name: string }
  | { action: 'agent.risk_set'; agent_id: string; risk_level: 'low' | 'high' }
  | RecordedEvaluation
  | { action: 'approval.decided'; agent_id: string; evaluation_id: string; status: 'approved' | 'rejected' }
  | { action: 'approval.withdrawn'; agent_id: string; evaluation_id: string }
  | { action: 'incident.opened'; agent_id: string; incident_id: string; recertification_required: boolean }
  | { action: 'recertifications.closed'; agent_id: string; evaluation_id: string; incident_ids: readonly string[] };

/** An evaluation of an agent. */
export interface RecordedEvaluation {
  action: 'evaluation.recorded';
  agent_id: string;
  category: string | null;
  /** SHA-256 of the stored body of the request, 64 hex digits. */
  document_sha256: string;
  /** When the evaluation ran, according to its sender: UTC with six fraction digits; null if it was not sent. */
  evaluated_at: string | null;
  evaluation_id: string;
  harness_id: string | null;
  name: string;
  pass_rate: number | null;
  status: EvaluationStatus;
  suite: string | null;
}

/** One event of the evidence log. The hash covers all of it. */
export type EvidenceEvent = EvidenceFact & {
  version: 1;
  tenant_id: string;
  /** Starts at 1, without gaps. */
  seq: number;
  /** UTC with milliseconds. */
  recorded_at: string;
  recorded_by: string;
};

/**
 * Returns the canonical text and the hash of an event. The hash is its leaf data.
 * @throws NotCanonicalError if the event has no canonical form
 */
export function hashEvidenceEvent(
  event: EvidenceEvent,
  digests: Pick<Digests, 'sha256Hex'>,
): { canonical: string; hash: string } {
  const canonical = canonicalJson(event);
  return { canonical, hash: digests.sha256Hex(EVIDENCE_DOMAIN + canonical) };
}

/** Checks the next event of a log. Returns it with its canonical text and hash, or its fault. The event is untrusted. */
export function readEvidenceEvent(
  value: unknown,
  expected: LogPosition,
  digests: Pick<Digests, 'sha256Hex'>,
): { event: EvidenceEvent; canonical: string; hash: string } | { fault: string } {
  const result = checkEvidenceEvent(value, expected);
  if ('fault' in result) return result;
  const { event } = result;
  try {
    return { event, ...hashEvidenceEvent(event, digests) };
  } catch (error) {
    if (error instanceof NotCanonicalError) return { fault: `the event has no canonical form: ${error.message}` };
    throw error;
  }
}

/** Like readEvidenceEvent, but does not compute the canonical text and the hash. */
export function checkEvidenceEvent(value: unknown, expected: LogPosition): { event: EvidenceEvent } | { fault: string } {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { fault: 'the event is not an object' };
  const fault = memberFault(value as Record<string, unknown>);
  if (fault !== undefined) return { fault };
  const event = value as EvidenceEvent;
  const misplaced = positionFault(event, expected);
  return misplaced === undefined ? { event } : { fault: misplaced };
}

type Form = (value: unknown) => boolean;
const oneOf =
  (...texts: readonly string[]): Form =>
  (value) =>
    texts.includes(value as string);
const isText: Form = (value) => typeof value === 'string';
const isNumber: Form = (value) => typeof value === 'number';
const isFlag: Form = (value) => typeof value === 'boolean';
const isUuidList: Form = (value) => Array.isArray(value) && value.every(isUuid);

/** The members of every event. */
const COMMON_MEMBERS: Readonly<Record<string, Form>> = {
  version: (value) => value === 1,
  tenant_id: isUuid,
  seq: (value) => Number.isSafeInteger(value),
  recorded_at: isInstant,
  recorded_by: isRecordedBy,
  action: isText,
  agent_id: isUuid,
};

/** The additional members of each action and their forms. */
const MEMBERS: Readonly<Record<EvidenceEvent['action'], Readonly<Record<string, Form>>>> = {
  'agent.registered': { agent_name: isText },
  'agent.risk_set': { risk_level: oneOf('low', 'high') },
  'evaluation.recorded': {
    category: orNull(isText),
    document_sha256: isHash,
    evaluated_at: orNull(isExactInstant),
    evaluation_id: isUuid,
    harness_id: orNull(isUuid),
    name: isText,
    pass_rate: orNull(isNumber),
    status: oneOf('scheduled', 'running', 'passing', 'failing'),
    suite: orNull(isText),
  },
  'approval.decided': { evaluation_id: isUuid, status: oneOf('approved', 'rejected') },
  'approval.withdrawn': { evaluation_id: isUuid },
  'incident.opened': { incident_id: isUuid, recertification_required: isFlag },
  'recertifications.closed': { evaluation_id: isUuid, incident_ids: isUuidList },
};

/** All members of each action. */
const ALL_MEMBERS = new Map(
  Object.entries(MEMBERS).map(([action, members]) => [action, new Map(Object.entries({ ...COMMON_MEMBERS, ...members }))]),
);

/** The actions that an event may have. */
export const EVIDENCE_ACTIONS = Object.keys(MEMBERS) as readonly EvidenceEvent['action'][];

function memberFault(event: Readonly<Record<string, unknown>>): string | undefined {
  const { version, action } = event;
  if (version !== 1) return `version ${JSON.stringify(version)} is not known to this verifier`;
  if (typeof action !== 'string' || !Object.hasOwn(MEMBERS, action))
    return `action ${JSON.stringify(action)} is not known to this verifier`;
  const members = ALL_MEMBERS.get(action)!;
  const unknown = Object.keys(event).find((name) => !members.has(name));
  if (unknown !== undefined) return `${JSON.stringify(unknown)} is not a member of an event ${action}`;
  for (const [name, isOfForm] of members) {
    if (!Object.hasOwn(event, name)) return `the member ${name} is missing`;
    if (!isOfForm(event[name])) return `the member ${name} of the event ${action} is malformed`;
  }
  return undefined;
}

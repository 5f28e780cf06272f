import { canonicalJson, NotCanonicalError } from './canonical-json.ts';
import type { Digests } from './digests.ts';
import { type LogPosition, positionFault } from './log-position.ts';
import { isHash, isInstant, isRecordedBy, isUuid, orNull } from './member-forms.ts';

/** Prefix of the hashed text: the kind and version, so that texts of other kinds have other hashes (docs/formats.md, "Trace event"). */
export const TRACE_DOMAIN = 'countersign/traces/v1\n';

/** A stored submission of a trace: one request, or a part of an OpenTelemetry export. */
export interface TraceSubmission {
  /** The trace's agent after this submission; null if it has none. */
  agent_id: string | null;
  /** SHA-256 of the stored document, 64 hex digits. */
  document_sha256: string;
  /** SHA-256 of the OpenTelemetry export that the document was mapped from; null if the document itself was received. */
  export_sha256: string | null;
  /** ID of the trace in this workspace. */
  id: string;
  /** The number of the submission within its trace, from 1. */
  number: number;
  recorded_by: string;
  trace_id: string;
}

/** An event of the trace log for submissions that were stored together. */
export interface TraceEvent {
  version: 1;
  tenant_id: string;
  /** Starts at 1, without gaps. */
  seq: number;
  /** UTC with milliseconds. */
  recorded_at: string;
  /** The time of receipt, as in the rows of the submissions: UTC with milliseconds. */
  received_at: string;
  action: 'traces.recorded';
  submissions: readonly TraceSubmission[];
}

/** A trace that was deleted with all its submissions. */
export interface DroppedTrace {
  /** ID of the trace in this workspace. */
  id: string;
  /** The number of its submissions. */
  submissions: number;
}

/** An event of the trace log for traces that were deleted together, because of their age or on request. */
export interface TraceDropEvent extends Pick<TraceEvent, 'version' | 'tenant_id' | 'seq' | 'recorded_at'> {
  action: 'traces.dropped';
  /** `retention`: their retention period was over. `erasure`: someone requested the deletion. */
  reason: 'retention' | 'erasure';
  traces: readonly DroppedTrace[];
  /** SHA-256 of OpenTelemetry exports that were deleted although submissions of other traces were mapped from them. */
  exports: readonly string[];
}

/** An event of the trace log. */
export type TraceLogEvent = TraceEvent | TraceDropEvent;

/**
 * Returns the canonical text and the hash of an event. The hash is its leaf data.
 * @throws NotCanonicalError if the event has no canonical form
 */
export function hashTraceEvent(event: TraceLogEvent, digests: Pick<Digests, 'sha256Hex'>): { canonical: string; hash: string } {
  const canonical = canonicalJson(event);
  return { canonical, hash: digests.sha256Hex(TRACE_DOMAIN + canonical) };
}

/** Checks the next event of a log. Returns it with its canonical text and hash, or its fault. The event is untrusted. */
export function readTraceEvent(
  value: unknown,
  expected: LogPosition,
  digests: Pick<Digests, 'sha256Hex'>,
): { event: TraceLogEvent; canonical: string; hash: string } | { fault: string } {
  const fault = eventFault(value);
  if (fault !== undefined) return { fault };
  const event = value as TraceLogEvent;
  const misplaced = positionFault(event, expected);
  if (misplaced !== undefined) return { fault: misplaced };
  try {
    return { event, ...hashTraceEvent(event, digests) };
  } catch (error) {
    if (error instanceof NotCanonicalError) return { fault: `the event has no canonical form: ${error.message}` };
    throw error;
  }
}

type Form = (value: unknown) => boolean;
const isCount: Form = (value) => Number.isSafeInteger(value) && (value as number) >= 1;

const isNonEmpty: Form = (value) => Array.isArray(value) && value.length > 0;

const COMMON_MEMBERS = {
  version: (value) => value === 1,
  tenant_id: isUuid,
  seq: isCount,
  recorded_at: isInstant,
} satisfies Record<string, Form>;

const TRACE_EVENT_MEMBERS: Readonly<Record<keyof TraceEvent, Form>> = {
  ...COMMON_MEMBERS,
  received_at: isInstant,
  action: (value) => value === 'traces.recorded',
  submissions: isNonEmpty,
};

const DROP_EVENT_MEMBERS: Readonly<Record<keyof TraceDropEvent, Form>> = {
  ...COMMON_MEMBERS,
  action: (value) => value === 'traces.dropped',
  reason: (value) => value === 'retention' || value === 'erasure',
  traces: isNonEmpty,
  exports: (value) => Array.isArray(value) && value.every(isHash),
};

const SUBMISSION_MEMBERS: Readonly<Record<keyof TraceSubmission, Form>> = {
  agent_id: orNull(isUuid),
  document_sha256: isHash,
  export_sha256: orNull(isHash),
  id: isUuid,
  number: isCount,
  recorded_by: isRecordedBy,
  trace_id: (value) => typeof value === 'string',
};

const DROPPED_TRACE_MEMBERS: Readonly<Record<keyof DroppedTrace, Form>> = { id: isUuid, submissions: isCount };

function eventFault(value: unknown): string | undefined {
  if (!isObject(value)) return 'the event is not an object';
  if (value.version !== 1) return `version ${JSON.stringify(value.version)} is not known to this verifier`;
  if (value.action === 'traces.dropped')
    return memberFault(value, DROP_EVENT_MEMBERS, 'the event') ?? elementFault(value.traces, DROPPED_TRACE_MEMBERS, 'trace');
  return (
    memberFault(value, TRACE_EVENT_MEMBERS, 'the event') ?? elementFault(value.submissions, SUBMISSION_MEMBERS, 'submission')
  );
}

/** The fault of the first malformed element of an array; undefined if there is none. */
function elementFault(elements: unknown, forms: Readonly<Record<string, Form>>, kind: string): string | undefined {
  for (const [index, element] of (elements as unknown[]).entries()) {
    const elementName = `${kind} ${index + 1}`;
    const fault = isObject(element) ? memberFault(element, forms, elementName) : `${elementName} is not an object`;
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** Returns the fault of the first unknown, missing or malformed member; undefined if all members match `forms`. */
function memberFault(
  object: Readonly<Record<string, unknown>>,
  forms: Readonly<Record<string, Form>>,
  objectName: string,
): string | undefined {
  const unknown = Object.keys(object).find((name) => !Object.hasOwn(forms, name));
  if (unknown !== undefined) return `${JSON.stringify(unknown)} is not a member of ${objectName}`;
  for (const [name, isOfForm] of Object.entries(forms)) {
    if (!Object.hasOwn(object, name)) return `the member ${name} of ${objectName} is missing`;
    if (!isOfForm(object[name])) return `the member ${name} of ${objectName} is malformed`;
  }
  return undefined;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

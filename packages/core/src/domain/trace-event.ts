import { canonicalJson, NotCanonicalError } from './canonical-json.ts';
import type { Digests } from './digests.ts';
import { isHash, isInstant, isRecordedBy, isUuid, orNull } from './member-forms.ts';

/** Separates this hash from all others and contains its version (docs/formats.md, "Trace event"). */
export const TRACE_DOMAIN = 'countersign/traces/v1\n';

/** A stored submission of a trace: one request, or a part of an OpenTelemetry export. */
export interface TraceSubmission {
  /** The trace's agent after this submission. */
  agent_id: string | null;
  /** SHA-256 of the stored document, 64 hex digits. */
  document_sha256: string;
  /** SHA-256 of the OpenTelemetry export of the document; null if the document itself was received. */
  export_sha256: string | null;
  /** Identifier of the trace in this workspace. */
  id: string;
  /** 1 for the first of its trace. */
  number: number;
  recorded_by: string;
  trace_id: string;
}

/** One event of the log `traces`: the submissions that were stored together. */
export interface TraceEvent {
  version: 1;
  tenant_id: string;
  /** Starts at 1, without gaps. */
  seq: number;
  /** UTC with milliseconds. */
  recorded_at: string;
  /** The time in the rows of the submissions: UTC with milliseconds. */
  received_at: string;
  action: 'traces.recorded';
  submissions: readonly TraceSubmission[];
}

/** The canonical text and the hash of an event. The hash is its leaf data. */
export function hashTraceEvent(event: TraceEvent, digests: Pick<Digests, 'sha256Hex'>): { canonical: string; hash: string } {
  const canonical = canonicalJson(event);
  return { canonical, hash: digests.sha256Hex(TRACE_DOMAIN + canonical) };
}

/** Reads the next event of a log. Returns it with its canonical text and hash, or its fault. The input is untrusted. */
export function readTraceEvent(
  value: unknown,
  { seq, tenantId }: { seq: number; tenantId: string | undefined },
  digests: Pick<Digests, 'sha256Hex'>,
): { event: TraceEvent; canonical: string; hash: string } | { fault: string } {
  const fault = eventFault(value);
  if (fault !== undefined) return { fault };
  const event = value as TraceEvent;
  if (tenantId !== undefined && event.tenant_id !== tenantId)
    return { fault: `tenant_id is not ${tenantId}: an event of another tenant` };
  if (event.seq !== seq) return { fault: `seq is ${event.seq}, expected ${seq}: an event is missing, repeated or moved` };
  try {
    return { event, ...hashTraceEvent(event, digests) };
  } catch (error) {
    if (error instanceof NotCanonicalError) return { fault: `the event has no canonical form: ${error.message}` };
    throw error;
  }
}

type Form = (value: unknown) => boolean;
const isCount: Form = (value) => Number.isSafeInteger(value) && (value as number) >= 1;

const EVENT: Readonly<Record<keyof TraceEvent, Form>> = {
  version: (value) => value === 1,
  tenant_id: isUuid,
  seq: isCount,
  recorded_at: isInstant,
  received_at: isInstant,
  action: (value) => value === 'traces.recorded',
  submissions: (value) => Array.isArray(value) && value.length > 0,
};

const SUBMISSION: Readonly<Record<keyof TraceSubmission, Form>> = {
  agent_id: orNull(isUuid),
  document_sha256: isHash,
  export_sha256: orNull(isHash),
  id: isUuid,
  number: isCount,
  recorded_by: isRecordedBy,
  trace_id: (value) => typeof value === 'string',
};

function eventFault(value: unknown): string | undefined {
  if (!isObject(value)) return 'the event is not an object';
  if (value.version !== 1) return `version ${JSON.stringify(value.version)} is not known to this verifier`;
  const fault = memberFault(value, EVENT, 'the event');
  if (fault !== undefined) return fault;
  for (const [place, submission] of (value.submissions as unknown[]).entries()) {
    const what = `submission ${place + 1}`;
    const wrong = isObject(submission) ? memberFault(submission, SUBMISSION, what) : `${what} is not an object`;
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

function memberFault(
  object: Readonly<Record<string, unknown>>,
  forms: Readonly<Record<string, Form>>,
  what: string,
): string | undefined {
  const unknown = Object.keys(object).find((name) => !Object.hasOwn(forms, name));
  if (unknown !== undefined) return `${JSON.stringify(unknown)} is not a member of ${what}`;
  for (const [name, isOfForm] of Object.entries(forms)) {
    if (!Object.hasOwn(object, name)) return `the member ${name} of ${what} is missing`;
    if (!isOfForm(object[name])) return `the member ${name} of ${what} does not have its form`;
  }
  return undefined;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

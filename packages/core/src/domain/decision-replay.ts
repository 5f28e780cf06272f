import { boundedLines } from './bounded-lines.ts';
import type { Digests } from './digests.ts';
import { conflict } from './event-conflict.ts';
import { type EvidenceDocument, evidenceDocument } from './evidence-document.ts';
import { readEvidenceEvent } from './evidence-event.ts';
import { EvidenceState } from './evidence-state.ts';
import { verdictDifference } from './evidence-verifier.ts';
import { decodeUtf8, parseLine } from './export-line.ts';

/** The evidence is read at most a minute before or after the moment of the decision; ages are rounded to 0.0001 hours. */
const AGE_DIFFERENCE_MAX_HOURS = 0.0168;

/** Stands for a limit of the age that nothing exceeds, and for one that everything exceeds: decisions do not contain the limit. */
const AGE_LIMITS = [Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER] as const;

/**
 * Decides decisions again, in their order, on an export of the log `evidence`. Both exports are taken as hostile. What a decision does not
 * contain is not known: the limit of the age, and the harness that was asked about where it had no evaluation.
 */
export class DecisionReplay {
  readonly #events: AsyncGenerator<string | undefined>;
  readonly #digests: Pick<Digests, 'sha256Hex'>;
  readonly #state = new EvidenceState();

  /** @param bytes the export of the log `evidence`. It is read as far as the decisions need it. */
  constructor(bytes: AsyncIterable<Uint8Array>, digests: Pick<Digests, 'sha256Hex'>) {
    this.#events = linesOf(bytes);
    this.#digests = digests;
  }

  /** What about the next decision does not follow from the events that it was decided on; undefined when all does. */
  async fault(decision: Record<string, unknown>): Promise<string | undefined> {
    const { evidence_size: size, tenant_id: tenantId } = decision;
    if (typeof tenantId !== 'string' || !Number.isSafeInteger(size) || (size as number) < 0)
      return 'the decision names no tenant_id and evidence_size, so it cannot be decided again';
    if ((size as number) < this.#state.size)
      return `evidence_size is ${size}, smaller than that of a decision before it, which is ${this.#state.size}`;
    const fault = await this.#readUpTo(size as number, tenantId);
    return fault ?? replayFault(this.#state, decision, tenantId);
  }

  async #readUpTo(size: number, tenantId: string): Promise<string | undefined> {
    while (this.#state.size < size) {
      const seq = this.#state.size + 1;
      const { value: line, done } = await this.#events.next();
      if (done === true) return `evidence_size is ${size}, and the export of the log evidence has ${this.#state.size} events`;
      const parsed = line === undefined ? { fault: 'the line is too long, or not UTF-8' } : parseLine(line);
      const read = 'fault' in parsed ? parsed : readEvidenceEvent(parsed.row, { seq, tenantId }, this.#digests);
      const fault = 'fault' in read ? read.fault : conflict(this.#state, read.event);
      if (fault !== undefined) return `event ${seq} of the log evidence: ${fault}`;
    }
    return undefined;
  }
}

async function* linesOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string | undefined> {
  for await (const lines of boundedLines(bytes))
    for (const line of lines) yield line === 'too long' ? undefined : decodeUtf8(line);
}

/** What about a decision does not follow from the state that it was decided on. */
function replayFault(state: EvidenceState, decision: Record<string, unknown>, tenantId: string): string | undefined {
  const { agent_id: agentId, required_threshold: threshold, timestamp } = decision;
  if (typeof threshold !== 'number') return 'required_threshold is not a number';
  if (agentId !== null && (typeof agentId !== 'string' || state.agent(agentId) === undefined))
    return `agent_id does not follow from the log evidence: no such agent is registered in its first ${state.size} events`;
  const found = evidenceFor(state, decision);
  if (found === undefined)
    return `evaluation_id does not follow from the log evidence: the evaluation is not the latest one of its agent or harness at event ${state.size}`;
  const document = evidenceDocument(
    tenantId,
    { agent_id: agentId, agent_name: null, harness_id: null, max_age_hours: 0, min_pass_rate: threshold },
    { ...found, other_evaluations: [], read_at: String(timestamp).replace('Z', '000Z') },
    [],
  );
  return differenceFrom(decision, document);
}

/** The evidence on the agent of a decision, with the evaluation that it rests on; undefined where that is not one that counts. */
function evidenceFor(state: EvidenceState, decision: Record<string, unknown>) {
  const { agent_id: agentId, evaluation_id: evaluationId, evaluation } = decision;
  const harnessId = (evaluation as { harness_id?: unknown } | null | undefined)?.harness_id;
  const asked = { agent_id: agentId as string | null, agent_name: null };
  const latest = state.find({ ...asked, harness_id: null }).evidence;
  // A harness without an evaluation may have been asked about.
  if (evaluationId === null) return { ...latest, evaluation: null, approval: null };
  if (latest.evaluation?.id === evaluationId) return latest;
  if (typeof harnessId !== 'string') return undefined;
  const ofHarness = state.find({ ...asked, harness_id: harnessId }).evidence;
  return ofHarness.evaluation?.id === evaluationId ? ofHarness : undefined;
}

/** How a decision differs from each verdict that is possible on its evidence; undefined where it is one of them. */
function differenceFrom(decision: Record<string, unknown>, document: EvidenceDocument): string | undefined {
  const [first, ...others] = AGE_LIMITS.map((limit) => differenceWithin(decision, document, limit));
  return others.includes(undefined) ? undefined : first;
}

function differenceWithin(decision: Record<string, unknown>, document: EvidenceDocument, limit: number): string | undefined {
  const asked = { ...document.asked, max_age_hours: limit };
  return verdictDifference(decision, { ...document, asked }, sameAge);
}

/** The age is that of the moment of reading, which is not known exactly. */
const sameAge = (said: unknown, follows: number | null): boolean =>
  said === follows || (typeof said === 'number' && follows !== null && Math.abs(said - follows) <= AGE_DIFFERENCE_MAX_HOURS);

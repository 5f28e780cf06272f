import { boundedLines } from './bounded-lines.ts';
import type { TreeLog } from './checkpoint.ts';
import type { Digests } from './digests.ts';
import { applyEvent } from './event-conflict.ts';
import { type EvidenceDocument, evidenceDocument, statesRequest } from './evidence-document.ts';
import { readEvidenceEvent } from './evidence-event.ts';
import { EvidenceState } from './evidence-state.ts';
import { verdictDifference } from './evidence-verifier.ts';
import { decodeUtf8, parseLine } from './export-line.ts';
import { logOf } from './row-verifier.ts';
import { showsName, suggestedNames } from './suggested-names.ts';

/** One minute plus the rounding to 0.0001 hours. The evidence may be read up to one minute before or after the decision's timestamp. */
const AGE_DIFFERENCE_MAX_HOURS = 0.0168;

/** Age limits above and below every age. */
const [ABOVE_EVERY_AGE, BELOW_EVERY_AGE] = [Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER];

/** Thrown if the export from which decisions are recomputed is of another log. Such an export proves nothing about the decisions. */
export class NotEvidenceError extends Error {
  override name = 'NotEvidenceError';

  constructor(log: TreeLog) {
    super(`replay must be the export of the evidence log, but this is an export of the log ${log}`);
  }
}

/**
 * Verifies decisions, in order, by recomputing them from an export of the evidence log. The decisions and the export are untrusted.
 * Decisions of older versions do not state two parameters of the request: the age limit and the harness. Such a decision is valid if
 * some values of these parameters give its verdict.
 */
export class DecisionReplay {
  readonly #events: AsyncGenerator<string | undefined>;
  readonly #digests: Pick<Digests, 'sha256Hex'>;
  readonly #state = new EvidenceState();

  /** @param bytes the export of the evidence log. Only the events that the decisions depend on are read. */
  constructor(bytes: AsyncIterable<Uint8Array>, digests: Pick<Digests, 'sha256Hex'>) {
    this.#events = linesOf(bytes);
    this.#digests = digests;
  }

  /**
   * Returns why the next decision does not follow from the first `evidence_size` events; undefined if it does.
   * @throws NotEvidenceError if the first line of the export is a row of another log.
   */
  async fault(decision: Record<string, unknown>): Promise<string | undefined> {
    const { evidence_size: size, tenant_id: tenantId } = decision;
    if (typeof tenantId !== 'string' || !Number.isSafeInteger(size) || (size as number) < 0)
      return 'the decision has no valid tenant_id or evidence_size, so it cannot be recomputed';
    if ((size as number) < this.#state.size)
      return `evidence_size is ${size}, smaller than in an earlier decision, where it is ${this.#state.size}`;
    const fault = await this.#readUpTo(size as number, tenantId);
    return fault ?? replayFault(this.#state, decision, tenantId);
  }

  async #readUpTo(size: number, tenantId: string): Promise<string | undefined> {
    while (this.#state.size < size) {
      const seq = this.#state.size + 1;
      const { value: line, done } = await this.#events.next();
      if (done === true)
        return `evidence_size is ${size}, but the export of the evidence log has only ${this.#state.size} events`;
      const parsed = line === undefined ? { fault: 'the line is too long, or not UTF-8' } : parseLine(line);
      const log = seq === 1 && 'value' in parsed ? logOf(parsed.value) : undefined;
      if (log !== undefined && log !== 'evidence') throw new NotEvidenceError(log);
      const result = 'fault' in parsed ? parsed : readEvidenceEvent(parsed.value, { seq, tenantId }, this.#digests);
      const fault = 'fault' in result ? result.fault : applyEvent(this.#state, result.event);
      if (fault !== undefined) return `event ${seq} of the evidence log: ${fault}`;
    }
    return undefined;
  }
}

/** The lines of the export; undefined for a line that is too long or not UTF-8. */
async function* linesOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string | undefined> {
  for await (const lines of boundedLines(bytes))
    for (const line of lines) yield line === 'too long' ? undefined : decodeUtf8(line);
}

/** Why a decision does not follow from the state of the log; undefined if it does. */
function replayFault(state: EvidenceState, decision: Record<string, unknown>, tenantId: string): string | undefined {
  const { agent_id: agentId, required_threshold: threshold, timestamp } = decision;
  if (typeof threshold !== 'number') return 'required_threshold is not a number';
  const requestFault = statesRequest(decision) ? faultOfRequest(decision) : undefined;
  if (requestFault !== undefined) return requestFault;
  if (agentId !== null && (typeof agentId !== 'string' || state.agent(agentId) === undefined))
    return `agent_id does not follow from the evidence log: no such agent is registered in its first ${state.size} events`;
  const evidence = evidenceFor(state, decision);
  if (evidence === undefined)
    return (
      `evaluation_id does not follow from the evidence log: in its first ${state.size} events, ` +
      'the evaluation is not the latest one of its agent or harness'
    );
  const document = evidenceDocument(
    tenantId,
    { agent_id: agentId, agent_name: null, harness_id: null, max_age_hours: 0, min_pass_rate: threshold },
    { ...evidence, other_evaluations: [], read_at: String(timestamp).replace('Z', '000Z') },
    [],
  );
  return differenceFrom(decision, document) ?? inventedNameFault(state, decision);
}

/** The fault if the message of a decision suggests a name that no registered agent has; undefined otherwise. */
function inventedNameFault(state: EvidenceState, { message }: Record<string, unknown>): string | undefined {
  const isKnown = (shownName: string) =>
    state.agentNamed(shownName) !== undefined || [...state.agents()].some(({ name }) => showsName(shownName, name));
  const inventedName = suggestedNames(message).find((shownName) => !isKnown(shownName));
  if (inventedName === undefined) return undefined;
  return `its message suggests ${JSON.stringify(inventedName)}, but the evidence log has no agent with this name`;
}

/** Why a decision does not state both parameters of its request; undefined if it does. */
function faultOfRequest({ harness_id: harnessId, max_age_hours: limit }: Record<string, unknown>): string | undefined {
  if (harnessId !== null && typeof harnessId !== 'string') return 'harness_id is neither a string nor null';
  return typeof limit === 'number' ? undefined : 'max_age_hours is not a number';
}

/** The evidence for a decision; undefined if its evaluation is not the latest one of its agent or harness. */
function evidenceFor(state: EvidenceState, decision: Record<string, unknown>) {
  const { agent_id: agentId, evaluation_id: evaluationId, evaluation } = decision;
  const agent = { agent_id: agentId as string | null, agent_name: null };
  if (statesRequest(decision)) {
    const { evidence } = state.find({ ...agent, harness_id: decision.harness_id as string | null });
    return (evidence.evaluation?.id ?? null) === evaluationId ? evidence : undefined;
  }
  const harnessId = (evaluation as { harness_id?: unknown } | null | undefined)?.harness_id;
  const latest = state.find({ ...agent, harness_id: null }).evidence;
  // The agent may have no evaluation, or the request may have named a harness without one.
  if (evaluationId === null) return { ...latest, evaluation: null, approval: null };
  if (latest.evaluation?.id === evaluationId) return latest;
  if (typeof harnessId !== 'string') return undefined;
  const latestOfHarness = state.find({ ...agent, harness_id: harnessId }).evidence;
  return latestOfHarness.evaluation?.id === evaluationId ? latestOfHarness : undefined;
}

/**
 * Returns undefined if the decision equals the verdict with one of its age limits. Otherwise returns how the decision differs from the
 * verdict with the first limit.
 */
function differenceFrom(decision: Record<string, unknown>, document: EvidenceDocument): string | undefined {
  // The request is an input here, so it is not compared.
  const { harness_id: _harness, max_age_hours: _limit, ...verdict } = decision;
  const [firstDifference, ...otherDifferences] = ageLimitsOf(decision).map((limit) =>
    verdictDifference(verdict, { ...document, asked: { ...document.asked, max_age_hours: limit } }, isSameAge),
  );
  return otherDifferences.includes(undefined) ? undefined : firstDifference;
}

/**
 * The age limits with which the verdict is computed. They say only whether the evaluation is recent enough. A stated limit is compared with
 * the signed age, which is exact. If no limit is stated, both results of this comparison are possible.
 */
function ageLimitsOf(decision: Record<string, unknown>): number[] {
  if (!statesRequest(decision)) return [ABOVE_EVERY_AGE, BELOW_EVERY_AGE];
  const { evaluation_age: age, max_age_hours: limit } = decision;
  return [typeof age === 'number' && age >= 0 && age <= (limit as number) ? ABOVE_EVERY_AGE : BELOW_EVERY_AGE];
}

/** Whether a signed age is close enough to a computed age. The time at which the evidence was read is not known exactly. */
const isSameAge = (signed: unknown, computed: number | null): boolean =>
  signed === computed ||
  (typeof signed === 'number' && computed !== null && Math.abs(signed - computed) <= AGE_DIFFERENCE_MAX_HOURS);

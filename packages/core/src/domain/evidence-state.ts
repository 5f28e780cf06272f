import { EventConflictError } from './event-conflict.ts';
import type { EvidenceInput, EvidenceQuestion, OtherEvidenceEvaluation } from './evidence-document.ts';
import type { EvidenceEvent, RecordedEvaluation } from './evidence-event.ts';
import { OTHERS_MAX } from './promotion.ts';

/** An evaluation in the log, with the last decision of an approver. */
export interface KnownEvaluation {
  id: string;
  agentId: string;
  /** Number of its event. */
  seq: number;
  name: string;
  suite: string | null;
  category: string | null;
  harnessId: string | null;
  status: RecordedEvaluation['status'];
  passRate: number | null;
  /** UTC with six fraction digits. */
  recordedAt: string;
  recordedBy: string;
  /** When it ran, according to its sender: UTC with six fraction digits; null if it was not sent. */
  evaluatedAt: string | null;
  /** SHA-256 of the stored body of the request, hex. */
  documentSha256: string;
  /** null if no approver has decided, or the decision was withdrawn. `decidedAt` is UTC with six fraction digits. */
  approval: { status: 'approved' | 'rejected'; decidedAt: string } | null;
}

/** A re-certification that is not closed. */
export interface OpenRecertification {
  incidentId: string;
  /** Number of the event that opened it. */
  seq: number;
  /** UTC with six fraction digits. */
  openedAt: string;
}

/** An agent in the log. */
export interface KnownAgent {
  readonly id: string;
  readonly name: string;
  /** Number of the event that registered it. */
  readonly seq: number;
  readonly riskLevel: 'low' | 'high';
  /** The evaluation of the agent that was recorded last; null if there is none. */
  readonly latest: KnownEvaluation | null;
  readonly openRecertifications: readonly OpenRecertification[];
}

interface AgentState extends KnownAgent {
  riskLevel: 'low' | 'high';
  latest: KnownEvaluation | null;
  openRecertifications: OpenRecertification[];
  /** The latest evaluation of each harness. */
  byHarness: Map<string, KnownEvaluation>;
  /**
   * The latest evaluation of each of the newest series, oldest first. The evaluations of a series have the same harness and the same
   * suite, or the same name if they have no suite.
   */
  bySeries: Map<string, KnownEvaluation>;
}

/**
 * The maximum number of series in memory per agent: the series of the decision's evaluation, OTHERS_MAX others, and one more, which shows
 * that there are further series.
 */
const SERIES_MAX = OTHERS_MAX + 2;

/** The evidence for a request. */
export interface FoundEvidence {
  evidence: Omit<EvidenceInput, 'read_at'>;
  /** Whether the ID and the name in the request belong to different agents, or only one of them is known. */
  agentsDiffer: boolean;
}

/**
 * The state that the events of a workspace's evidence log produce. Promotion checks use only this state. So rows that were written to the
 * database without the server cannot change whether a promotion is allowed, and no message names an agent that only the table of agents
 * has.
 */
export class EvidenceState {
  #size = 0;
  #evaluationCount = 0;
  readonly #agents = new Map<string, AgentState>();
  readonly #byName = new Map<string, AgentState>();

  /** The number of applied events. */
  get size(): number {
    return this.#size;
  }

  /** The number of known agents. */
  get agentCount(): number {
    return this.#agents.size;
  }

  /** The number of evaluations in memory. An evaluation counts twice if it is the latest both of its series and of its harness. */
  get evaluationCount(): number {
    return this.#evaluationCount;
  }

  /** All registered agents. */
  agents(): IterableIterator<KnownAgent> {
    return this.#agents.values();
  }

  agent(id: string): KnownAgent | undefined {
    return this.#agents.get(id);
  }

  agentNamed(name: string): KnownAgent | undefined {
    return this.#byName.get(name);
  }

  /** The evaluation with this ID; undefined if promotion checks cannot use it (see `usableEvaluations`). */
  usableEvaluation(evaluationId: string): KnownEvaluation | undefined {
    for (const agent of this.#agents.values()) {
      const evaluation = usableEvaluations(agent).find(({ id }) => id === evaluationId);
      if (evaluation !== undefined) return evaluation;
    }
    return undefined;
  }

  /** The evaluations of an agent that promotion checks can use. */
  evaluationsOf(agentId: string): KnownEvaluation[] {
    const agent = this.#agents.get(agentId);
    return agent === undefined ? [] : [...new Set(usableEvaluations(agent))];
  }

  /** The approved evaluations that promotion checks can use, of all agents. */
  approvedEvaluations(): KnownEvaluation[] {
    const all = [...this.#agents.keys()].flatMap((id) => this.evaluationsOf(id));
    return all.filter(({ approval }) => approval?.status === 'approved');
  }

  /** Applies the next event. Throws EventConflictError if it contradicts the earlier events. */
  apply(event: EvidenceEvent): void {
    if (event.seq !== this.#size + 1)
      throw new EventConflictError(`event ${event.seq} follows event ${this.#size}: an event is missing or repeated`);
    if (event.action === 'agent.registered') this.#register(event);
    else this.#change(this.#agentOf(event), event);
    this.#size += 1;
  }

  /** Returns the evidence for a promotion check. Its `agent` is null if the agent is not registered. */
  find(question: Pick<EvidenceQuestion, 'agent_id' | 'agent_name' | 'harness_id'>): FoundEvidence {
    const byId = question.agent_id === null ? undefined : this.#agents.get(question.agent_id);
    const byName = question.agent_name === null ? undefined : this.#byName.get(question.agent_name);
    const agentsDiffer = question.agent_id !== null && question.agent_name !== null && byId !== byName;
    return { evidence: evidenceOfAgent(byId ?? byName, question.harness_id), agentsDiffer };
  }

  #register({ agent_id: id, agent_name: name, seq }: Extract<EvidenceEvent, { action: 'agent.registered' }>): void {
    if (this.#agents.has(id)) throw new EventConflictError(`agent ${id} is registered twice`);
    const namesake = this.#byName.get(name);
    if (namesake !== undefined) throw new EventConflictError(`agent ${id} is registered with the name of agent ${namesake.id}`);
    const agent: AgentState = {
      id,
      name,
      seq,
      riskLevel: 'low',
      latest: null,
      openRecertifications: [],
      byHarness: new Map(),
      bySeries: new Map(),
    };
    this.#agents.set(id, agent);
    this.#byName.set(name, agent);
  }

  #agentOf({ agent_id: id }: EvidenceEvent): AgentState {
    const agent = this.#agents.get(id);
    if (agent === undefined) throw new EventConflictError(`agent ${id} is not registered`);
    return agent;
  }

  #change(agent: AgentState, event: Exclude<EvidenceEvent, { action: 'agent.registered' }>): void {
    const at = withMicroseconds(event.recorded_at);
    switch (event.action) {
      case 'agent.risk_set':
        agent.riskLevel = event.risk_level;
        break;
      case 'evaluation.recorded':
        this.#evaluationCount += addEvaluation(agent, evaluationOfEvent(event));
        break;
      case 'approval.decided':
        setApproval(agent, event.evaluation_id, { status: event.status, decidedAt: at });
        break;
      case 'approval.withdrawn':
        setApproval(agent, event.evaluation_id, null);
        break;
      case 'incident.opened':
        if (event.recertification_required)
          agent.openRecertifications.push({ incidentId: event.incident_id, seq: event.seq, openedAt: at });
        break;
      case 'recertifications.closed':
        agent.openRecertifications = agent.openRecertifications.filter(
          ({ incidentId }) => !event.incident_ids.includes(incidentId),
        );
    }
  }
}

/** Extends a time with three fraction digits to six. */
const withMicroseconds = (instant: string): string => instant.replace('Z', '000Z');

/** Returns the evaluation in an event, without approval. */
export const evaluationOfEvent = (event: RecordedEvaluation & EvidenceEvent): KnownEvaluation => ({
  id: event.evaluation_id,
  agentId: event.agent_id,
  seq: event.seq,
  name: event.name,
  suite: event.suite,
  category: event.category,
  harnessId: event.harness_id,
  status: event.status,
  passRate: event.pass_rate,
  recordedAt: withMicroseconds(event.recorded_at),
  recordedBy: event.recorded_by,
  evaluatedAt: event.evaluated_at,
  documentSha256: event.document_sha256,
  approval: null,
});

/** Adds an evaluation, which is now the agent's latest. Returns by how much `evaluationCount` grows. */
function addEvaluation(agent: AgentState, evaluation: KnownEvaluation): number {
  const { byHarness, bySeries } = agent;
  const countBefore = byHarness.size + bySeries.size;
  agent.latest = evaluation;
  if (evaluation.harnessId !== null) byHarness.set(evaluation.harnessId, evaluation);
  const series = JSON.stringify([evaluation.suite ?? evaluation.name, evaluation.harnessId]);
  // A map keeps the order of insertion. Deleting the series first moves it to the end, so the map is in the order of recording.
  bySeries.delete(series);
  bySeries.set(series, evaluation);
  // Senders choose the names of series, so their number is unlimited. The oldest series is removed, because no decision names it.
  if (bySeries.size > SERIES_MAX) bySeries.delete(bySeries.keys().next().value!);
  return byHarness.size + bySeries.size - countBefore;
}

/** Sets the approval of an evaluation. Does nothing if promotion checks cannot use the evaluation: its approval has no effect. */
function setApproval(agent: AgentState, evaluationId: string, approval: KnownEvaluation['approval']): void {
  for (const evaluation of usableEvaluations(agent)) if (evaluation.id === evaluationId) evaluation.approval = approval;
}

/** The evaluations that promotion checks can use: the latest one, and the latest of each harness. */
const usableEvaluations = ({ latest, byHarness }: AgentState): KnownEvaluation[] =>
  latest === null ? [] : [latest, ...byHarness.values()];

function evidenceOfAgent(agent: AgentState | undefined, harnessId: string | null): Omit<EvidenceInput, 'read_at'> {
  if (agent === undefined)
    return { agent: null, approval: null, evaluation: null, open_recertifications: 0, other_evaluations: [] };
  const latest = harnessId === null ? agent.latest : (agent.byHarness.get(harnessId) ?? null);
  return {
    agent: { id: agent.id, name: agent.name, risk_level: agent.riskLevel },
    approval: latest?.approval == null ? null : { decided_at: latest.approval.decidedAt, status: latest.approval.status },
    evaluation: latest === null ? null : latestEvaluation(latest),
    open_recertifications: agent.openRecertifications.length,
    other_evaluations: latest?.status === 'passing' ? otherEvaluations(agent, latest) : [],
  };
}

/** Members in the order of canonical JSON, as in the evidence document. */
const latestEvaluation = (evaluation: KnownEvaluation): NonNullable<EvidenceInput['evaluation']> => ({
  category: evaluation.category,
  evaluated_at: evaluation.evaluatedAt,
  harness_id: evaluation.harnessId,
  id: evaluation.id,
  name: evaluation.name,
  pass_rate: evaluation.passRate,
  recorded_at: evaluation.recordedAt,
  recorded_by: evaluation.recordedBy,
  status: evaluation.status,
});

/** The latest evaluation of every other series of the agent, latest first; at most OTHERS_MAX plus one. */
function otherEvaluations(agent: AgentState, latest: KnownEvaluation): OtherEvidenceEvaluation[] {
  if (agent.bySeries.size < 2) return [];
  const others = [...agent.bySeries.values()].reverse().filter(({ id }) => id !== latest.id);
  return others.slice(0, OTHERS_MAX + 1).map(({ evaluatedAt, name, passRate, recordedAt, status, suite }) => ({
    evaluated_at: evaluatedAt,
    name,
    pass_rate: passRate,
    recorded_at: recordedAt,
    status,
    suite,
  }));
}

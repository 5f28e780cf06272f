import type { PromotionDecision, Reason } from '@countersign/core/contract/promotion-check';
import { CheckFailedError, inline, type Narrator } from './narrator.ts';

/** The keys of the tour. Each one is named after the system that uses it. */
export type KeyName = 'agent-runtime' | 'evaluator' | 'deploy-gate' | 'ci';

/** The response to a request. */
export interface Answer {
  status: number;
  body: Record<string, unknown>;
  headers: Headers;
}

/** Calls the five endpoints as a tenant's systems do: one request with one key, printed on one line. */
export class Api {
  /** The number of blocked decisions so far. Each must be in the ledger at the end. */
  blocked = 0;
  readonly #narrator: Narrator;
  readonly #url: URL;
  readonly #keys: Readonly<Record<KeyName, string>>;

  constructor(narrator: Narrator, url: URL, keys: Readonly<Record<KeyName, string>>) {
    this.#narrator = narrator;
    this.#url = url;
    this.#keys = keys;
  }

  /** POSTs a body and prints the request and the response. `shown` replaces a body that is too long to print. */
  async post(as: KeyName, path: string, body: object, shown = inline(body)): Promise<Answer> {
    const answer = await this.#send(as, path, body, shown);
    this.#narrator.answer(`${answer.status} ${answer.status === 200 ? inline(answer.body) : errorLine(answer.body)}`);
    return answer;
  }

  /** Like `post`, but throws unless the status is 200. */
  async store(as: KeyName, path: string, body: object, shown?: string): Promise<Answer> {
    const answer = await this.post(as, path, body, shown);
    if (answer.status !== 200)
      throw new CheckFailedError(`${path}: expected 200, got ${answer.status} ${errorLine(answer.body)}`);
    return answer;
  }

  /** Requests a promotion check. The response must have this reason. */
  async requestDecision(agent: string, expected: Reason): Promise<PromotionDecision> {
    const path = '/api/public/governance/promotion-check';
    const { status, body } = await this.#send('deploy-gate', path, { agent_name: agent }, inline({ agent_name: agent }));
    if (status !== 200) throw new CheckFailedError(`${path}: expected 200, got ${status} ${errorLine(body)}`);
    const decision = body as unknown as PromotionDecision;
    const { allowed, reason, event, message } = decision;
    this.#narrator.answer(`200 ${allowed ? 'ALLOWED' : 'BLOCKED'} ${reason} (event ${event})`, allowed ? 'green' : 'red');
    this.#narrator.answer(message);
    if (!allowed) this.blocked += 1;
    const [expectedVerdict, actualVerdict] = [
      { allowed: expected === 'all_conditions_met', reason: expected },
      { allowed, reason },
    ];
    if (inline(expectedVerdict) !== inline(actualVerdict))
      throw new CheckFailedError(`the gate: expected ${inline(expectedVerdict)}, got ${inline(actualVerdict)}`);
    return decision;
  }

  async #send(as: KeyName, path: string, body: object, shown: string): Promise<Answer> {
    this.#narrator.act(`POST ${path} ${shown}`, `key ${as}`);
    const response = await fetch(new URL(path, this.#url), {
      method: 'POST',
      headers: { authorization: `Bearer ${this.#keys[as]}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    return { status: response.status, body: JSON.parse(text) as Record<string, unknown>, headers: response.headers };
  }
}

/** An error body on one line: its code and its first problem. */
function errorLine(body: Record<string, unknown>): string {
  const [first] = (body.issues ?? []) as { message: string }[];
  return String(body.error) + (first === undefined ? '' : `: ${first.message}`);
}

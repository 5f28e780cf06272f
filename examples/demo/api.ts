import type { PromotionDecision, Reason } from '@countersign/core/contract/promotion-check';
import { CheckFailedError, type Narrator, oneLineJson } from './narrator.ts';

/** The keys of the tour. Each one is named after the system that uses it. */
export type KeyName = 'agent-runtime' | 'evaluator' | 'deploy-gate' | 'ci';

/** The response to a request. */
export interface ApiResponse {
  status: number;
  body: Record<string, unknown>;
  headers: Headers;
}

/** Calls the five public endpoints (`/api/public/…`) as a tenant's systems do, and prints each request with its response. */
export class Api {
  /** The number of blocked decisions so far. Each must be in the ledger at the end. */
  blockedDecisionCount = 0;
  readonly #narrator: Narrator;
  readonly #url: URL;
  readonly #keys: Readonly<Record<KeyName, string>>;

  constructor(narrator: Narrator, url: URL, keys: Readonly<Record<KeyName, string>>) {
    this.#narrator = narrator;
    this.#url = url;
    this.#keys = keys;
  }

  /** POSTs a body and prints the request and the response. `printedBody` replaces a body that is too long to print. */
  async post(as: KeyName, path: string, body: object, printedBody = oneLineJson(body)): Promise<ApiResponse> {
    const response = await this.#send(as, path, body, printedBody);
    const { status } = response;
    this.#narrator.printOutput(`${status} ${status === 200 ? oneLineJson(response.body) : errorLine(response.body)}`);
    return response;
  }

  /** Like `post`, but throws unless the status is 200. */
  async store(as: KeyName, path: string, body: object, printedBody?: string): Promise<ApiResponse> {
    const response = await this.post(as, path, body, printedBody);
    if (response.status !== 200)
      throw new CheckFailedError(`${path}: expected 200, got ${response.status} ${errorLine(response.body)}`);
    return response;
  }

  /** Requests a promotion check and prints a summary of the decision. Throws unless it has the expected reason. */
  async requestDecision(agent: string, expected: Reason): Promise<PromotionDecision> {
    const path = '/api/public/governance/promotion-check';
    const { status, body } = await this.#send('deploy-gate', path, { agent_name: agent }, oneLineJson({ agent_name: agent }));
    if (status !== 200) throw new CheckFailedError(`${path}: expected 200, got ${status} ${errorLine(body)}`);
    const decision = body as unknown as PromotionDecision;
    const { allowed, reason, event, message } = decision;
    this.#narrator.printOutput(`200 ${allowed ? 'ALLOWED' : 'BLOCKED'} ${reason} (event ${event})`, allowed ? 'green' : 'red');
    this.#narrator.printOutput(message);
    if (!allowed) this.blockedDecisionCount += 1;
    const [expectedVerdict, actualVerdict] = [
      { allowed: expected === 'all_conditions_met', reason: expected },
      { allowed, reason },
    ];
    if (oneLineJson(expectedVerdict) !== oneLineJson(actualVerdict))
      throw new CheckFailedError(`the gate: expected ${oneLineJson(expectedVerdict)}, got ${oneLineJson(actualVerdict)}`);
    return decision;
  }

  async #send(as: KeyName, path: string, body: object, printedBody: string): Promise<ApiResponse> {
    this.#narrator.printAction(`POST ${path} ${printedBody}`, `key ${as}`);
    const response = await fetch(new URL(path, this.#url), {
      method: 'POST',
      headers: { authorization: `Bearer ${this.#keys[as]}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    return { status: response.status, body: JSON.parse(text) as Record<string, unknown>, headers: response.headers };
  }
}

/** An error body on one line: its code and its first issue. */
function errorLine(body: Record<string, unknown>): string {
  const [first] = (body.issues ?? []) as { message: string }[];
  return String(body.error) + (first === undefined ? '' : `: ${first.message}`);
}

import type { Operation } from '@countersign/core/contract/operations';
import type { KeyScope } from '@countersign/core/contract/scopes';
import type { RecordWriters } from './record-writers.ts';

/** Who is asking: what the key resolved to. */
export interface Principal {
  tenantId: string;
  keyId: string;
  /** Twelve hex digits. */
  prefix: string;
  scopes: readonly KeyScope[];
}

/** A request that has passed authentication, with its body's own bytes. */
export interface Asked {
  principal: Principal;
  /** The decompressed body as it came. */
  document: Buffer;
  idempotencyKey: string | undefined;
  /** Whether `Prefer` asks for the attestation of a decision. */
  prefersAttestation: boolean;
  /** `Countersign-Nonce` of a promotion check, which its decision repeats. */
  nonce?: string | undefined;
}

/** What is answered once everything is committed. */
export interface Answered {
  /** JSON text of the body: it is kept as it was sent, for replays and as the signed decision. */
  json: string;
  headers: Record<string, string>;
}

/** An endpoint in two steps: what can be done with the body alone, and what needs the database. */
export interface Endpoint<Body, Prepared> {
  /**
   * What the writer needs of a body, without its bytes; throws what is wrong with it. Runs on a worker thread for large bodies, so the result
   * must survive a structured clone: no class instances, no Buffers.
   */
  prepare(asked: Asked, body: Body): Prepared;
  /** Writes what was prepared, and answers once it is committed. */
  submit(writers: RecordWriters, asked: Asked, prepared: Prepared): Promise<Answered>;
}

/** The body that an operation's contract describes. */
export type BodyOf<O> = O extends Operation<infer Body, unknown> ? Body : never;

/** Makes an answer of a body that fits the operation's schema. */
export const answered = <Body>(body: Body, headers: Record<string, string> = {}): Answered => ({
  json: JSON.stringify(body),
  headers,
});

/** How a row names the key that really wrote it. */
export const recordedByKey = ({ prefix }: Principal): `key:${string}` => `key:${prefix}`;

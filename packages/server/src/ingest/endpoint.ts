import type { Operation } from '@countersign/core/contract/operations';
import type { KeyScope } from '@countersign/core/contract/scopes';
import type { House } from './house.ts';

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
}

/** What is answered once everything is committed. */
export interface Answered {
  /** JSON text of the body: it is kept as it was sent, for replays and as the signed decision. */
  json: string;
  headers: Record<string, string>;
}

/** An endpoint: who is asking, what they sent, and what the house offers come in as arguments. */
export type Endpoint<Body> = (house: House, asked: Asked, body: Body) => Promise<Answered>;

/** The body that an operation's contract describes. */
export type BodyOf<O> = O extends Operation<infer Body, unknown> ? Body : never;

/** Makes an answer of a body that fits the operation's schema. */
export const answered = <Body>(body: Body, headers: Record<string, string> = {}): Answered => ({
  json: JSON.stringify(body),
  headers,
});

/** How a row names the key that really wrote it. */
export const recordedByKey = ({ prefix }: Principal): `key:${string}` => `key:${prefix}`;

import type { KeyScope } from '@countersign/core/contract/scopes';

/** The authenticated sender: the facts of its key. */
export interface Principal {
  tenantId: string;
  keyId: string;
  /** Twelve hex digits. */
  prefix: string;
  scopes: readonly KeyScope[];
}

/** An authenticated request with the bytes of its body. */
export interface IngestRequest {
  principal: Principal;
  /** The decompressed body, byte for byte. */
  document: Buffer;
  idempotencyKey: string | undefined;
  /** Whether the header `Prefer` requests the attestation of a decision. */
  prefersAttestation: boolean;
  /** The header `Countersign-Nonce` of a promotion check. The decision repeats it. */
  nonce?: string | undefined;
}

/** The reply to a request, sent after everything is committed. */
export interface IngestReply {
  /** JSON text of the body. With an Idempotency-Key, it is stored for replays. For a promotion check it is the signed decision. */
  json: string;
  headers: Record<string, string>;
}

/** Creates a reply. The body must match the response schema of the operation. */
export const ingestReply = <Body>(body: Body, headers: Record<string, string> = {}): IngestReply => ({
  json: JSON.stringify(body),
  headers,
});

/** The value of `recorded_by` in rows from a sender with this key. */
export const recordedByKey = ({ prefix }: Principal): `key:${string}` => `key:${prefix}`;

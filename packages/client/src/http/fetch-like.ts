/** The part of `fetch` that this library needs. Pass undici's `fetch` for a proxy or certificates, or a fake one in tests. */
export type FetchLike = (url: string, request: FetchRequest) => Promise<FetchResponse>;

/** The request that this library passes to `fetch`. */
export interface FetchRequest {
  method: 'POST';
  headers: Record<string, string>;
  body: string;
  /** Redirects are not followed, because the key would go to another address. */
  redirect: 'manual';
  signal: AbortSignal;
}

/** The part of the response that is read. */
export interface FetchResponse {
  readonly status: number;
  readonly headers: {
    get(name: string): string | null;
    forEach(each: (value: string, name: string) => void): void;
  };
  text(): Promise<string>;
}

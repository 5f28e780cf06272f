/** What is asked of a `fetch`: the platform's own, one with a proxy or certificates of its own (undici), or one that tests bring. */
export type FetchLike = (url: string, request: FetchRequest) => Promise<FetchAnswer>;

/** How this library calls it. */
export interface FetchRequest {
  method: 'POST';
  headers: Record<string, string>;
  body: string;
  /** A redirect is not followed: the key would go to an address that nobody gave. */
  redirect: 'manual';
  signal: AbortSignal;
}

/** What of an answer is read. */
export interface FetchAnswer {
  readonly status: number;
  readonly headers: {
    get(name: string): string | null;
    forEach(each: (value: string, name: string) => void): void;
  };
  text(): Promise<string>;
}

/** The maximum number of spans that the service accepts in one request. */
const SPANS_MAX = 500;
/** Characters of spans in one request. Text of any script then stays below the service's limit of 20 MiB. */
const CHARACTERS_MAX = 6_000_000;

/** The part of a trace in one request. */
export interface TraceRequest {
  body: string;
  /** Index of its first span in the trace. */
  firstSpan: number;
}

/**
 * Splits a trace into requests of limited size. The service merges them by `trace_id`.
 * @param head JSON text of the trace's own members, for the first request
 * @param again JSON text of the members that the other requests repeat: ID and agent
 * @param spans JSON texts; undefined keeps the spans that the service has
 */
export function traceRequests(head: string, again: string, spans: readonly string[] | undefined): TraceRequest[] {
  if (spans === undefined) return [{ body: head, firstSpan: 0 }];
  const requests: TraceRequest[] = [];
  for (let first = 0; first < spans.length || first === 0; ) {
    let [at, characters] = [first, 0];
    while (at < spans.length && at - first < SPANS_MAX && (at === first || characters + spans[at]!.length <= CHARACTERS_MAX)) {
      characters += spans[at]!.length;
      at += 1;
    }
    const members = (first === 0 ? head : again).slice(0, -1);
    requests.push({ body: `${members},"spans":[${spans.slice(first, at).join(',')}]}`, firstSpan: first });
    first = Math.max(at, 1);
  }
  return requests;
}

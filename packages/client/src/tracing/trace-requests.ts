/** Most spans that the service takes in one request. */
const SPANS_MAX = 500;
/** Characters of spans in one request. Text of any script then keeps the service's limit of 20 MiB. */
const CHARACTERS_MAX = 6_000_000;

/** One request's share of a trace. */
export interface TraceRequest {
  body: string;
  /** Place of its first span in the trace. */
  firstSpan: number;
}

/**
 * The requests that carry a trace: one, or several when it has more spans than one request takes. The service merges them by `trace_id`.
 * @param head JSON text of the trace's own members, which travel with the first request
 * @param again JSON text of what the others say of the trace: its id and agent
 * @param spans JSON texts; undefined leaves the spans that the service has
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

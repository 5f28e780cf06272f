/** The maximum number of spans that the service accepts in one request. */
const SPANS_MAX = 500;
/**
 * The maximum number of characters in one request; a longer span is sent alone. Even with three bytes for each character, a request is
 * below the service's limit of 20 MiB.
 */
const CHARACTERS_MAX = 6_000_000;

/** The part of a trace in one request. */
export interface TraceRequest {
  body: string;
  /** The index of the request's first span in the trace. */
  firstSpan: number;
}

/**
 * Splits a trace into requests of limited size. The service merges them by `trace_id`.
 * @param head JSON text of the trace's own members, for the first request
 * @param identity JSON text of the members that the other requests repeat: ID and agent
 * @param spans JSON texts; undefined sends no member `spans`
 */
export function traceRequests(head: string, identity: string, spans: readonly string[] | undefined): TraceRequest[] {
  if (spans === undefined) return [{ body: head, firstSpan: 0 }];
  const requests: TraceRequest[] = [];
  for (let first = 0; first < spans.length || first === 0; ) {
    const members = (first === 0 ? head : identity).slice(0, -1);
    let [end, characters] = [first, members.length];
    while (
      end < spans.length &&
      end - first < SPANS_MAX &&
      (end === first || characters + spans[end]!.length <= CHARACTERS_MAX)
    ) {
      characters += spans[end]!.length;
      end += 1;
    }
    requests.push({
      body: `${members}${members === '{' ? '' : ','}"spans":[${spans.slice(first, end).join(',')}]}`,
      firstSpan: first,
    });
    first = Math.max(end, 1);
  }
  return requests;
}

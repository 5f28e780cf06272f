/** An AnyValue of OTLP in JSON types. Integers beyond ±(2^53-1), NaN, infinity and bytes (Base64) are strings. */
export type Value = string | number | boolean | null | Value[] | { [name: string]: Value };

/** Attributes by name. If a name is repeated, the last value is used. */
export type Attributes = Map<string, Value>;

/** For each name, the values that a later attribute with this name replaced. The body of the export still contains them. */
const replacedValues = new WeakMap<Attributes, Map<string, Value[]>>();

/** Adds an attribute. If its name is already in use, `valuesOf` still returns the replaced value. */
export function setAttribute(attributes: Attributes, name: string, value: Value): void {
  const earlier = attributes.get(name);
  if (earlier !== undefined) {
    const byName = replacedValues.get(attributes) ?? new Map<string, Value[]>();
    replacedValues.set(attributes, byName);
    const values = byName.get(name);
    // Copying the list for each value would take hours for a body of 500,000 values with one name.
    if (values === undefined) byName.set(name, [earlier]);
    else values.push(earlier);
  }
  attributes.set(name, value);
}

/** All values that were set under this name: the current value first, then the replaced ones. Empty if the name has no value. */
export const valuesOf = (attributes: Attributes, name: string): Value[] => {
  const value = attributes.get(name);
  return value === undefined ? [] : [value, ...(replacedValues.get(attributes)?.get(name) ?? [])];
};

/** An event of a span. */
export interface EventRecord {
  name: string;
  /** Nanoseconds since 1970; undefined when not sent. */
  time: bigint | undefined;
  attributes: Attributes;
}

/** A link of a span to another span. */
export interface LinkRecord {
  /** The IDs of the other span, as in SpanRecord. */
  traceId: string;
  spanId: string;
  attributes: Attributes;
}

/** A span of OTLP. The readers of protobuf and of JSON both return it. */
export interface SpanRecord {
  /** 32 lower-case hex digits; empty without a valid ID. */
  traceId: string;
  /** 16 lower-case hex digits; empty without a valid ID. */
  spanId: string;
  /** 16 lower-case hex digits; undefined if the ID of the parent is missing or not valid. */
  parentSpanId: string | undefined;
  /** Whether the span's parent is known to be remote. */
  hasRemoteParent: boolean;
  name: string;
  /** A value of SPAN_KIND_*; 0 when not sent. */
  kind: number;
  /** Nanoseconds since 1970; undefined when not sent. */
  start: bigint | undefined;
  end: bigint | undefined;
  attributes: Attributes;
  events: EventRecord[];
  links: LinkRecord[];
  /** 0 unset, 1 ok, 2 error. */
  statusCode: number;
  statusMessage: string;
  resource: Attributes;
  /** Name of the instrumentation scope. */
  scope: string;
}

/** A log record of OTLP. The readers of protobuf and of JSON both return it. */
export interface LogRecord {
  /** As in SpanRecord. Each ID is empty if it is missing or not valid. */
  traceId: string;
  spanId: string;
  /** When the event happened, or else when it was observed: nanoseconds since 1970. Undefined if neither time was sent. */
  time: bigint | undefined;
  /** Empty when not sent. */
  eventName: string;
  body: Value;
  attributes: Attributes;
  resource: Attributes;
}

/** The body cannot be read as an export, or exceeds a limit. `place` is `byte <offset>` in protobuf, or a JSON Pointer in JSON. */
export class MalformedExportError extends Error {
  override name = 'MalformedExportError';
  readonly place: string;

  constructor(message: string, place: string) {
    super(message);
    this.place = place;
  }
}

/** The maximum number of records in a body: spans, their events and links, log records, or data points. */
export const RECORDS_MAX = 100_000;
/** The maximum number of values in a body: attributes and others (docs/opentelemetry.md, "Responses"). */
export const VALUES_MAX = 500_000;
/** The maximum depth of a message in a protobuf body. The request itself has depth 0. */
export const DEPTH_MAX = 64;

/** Two bits of a span's flags: whether the sender knows if the parent is remote, and whether it is. */
const REMOTE_PARENT_KNOWN_AND_TRUE = 0x300;

/** Whether the flags of a span say that its parent is remote. */
export const hasRemoteParent = (flags: number): boolean =>
  (flags & REMOTE_PARENT_KNOWN_AND_TRUE) === REMOTE_PARENT_KNOWN_AND_TRUE;

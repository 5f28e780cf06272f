import { mapSpan } from '../../src/otlp/map-span.ts';
import type { SpanRecord, Value } from '../../src/otlp/records.ts';

/** A span with these attributes in the form that the readers return. */
export const record = (attributes: Record<string, Value>, members: Partial<SpanRecord> = {}): SpanRecord => ({
  traceId: 'a'.repeat(32),
  spanId: 'b'.repeat(16),
  parentSpanId: undefined,
  hasRemoteParent: false,
  name: 'step',
  kind: 1,
  start: 1_700_000_000_123_456_789n,
  end: 1_700_000_001_623_456_789n,
  events: [],
  links: [],
  statusCode: 0,
  statusMessage: '',
  resource: new Map(),
  scope: '',
  ...members,
  attributes: new Map(Object.entries(attributes)),
});

/** The step that mapSpan makes of a span with these attributes. */
export const mapAttributes = (attributes: Record<string, Value>, members?: Partial<SpanRecord>) =>
  mapSpan(record(attributes, members));

import { isIdempotencyKey } from '@countersign/core/domain/idempotency-key';
import { wrongUse } from './exit-codes.ts';

const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** Reads a duration such as `500ms`, `30s`, `30m` or `2h`, from `minimumMs` to 7 days. Returns milliseconds. */
export function readDuration(option: string, text: string, minimumMs = 1): number {
  const [, amount = '', unit = ''] = /^(\d{1,9})(ms|s|m|h)$/.exec(text) ?? [];
  const ms = Number(amount) * (UNITS[unit] ?? Number.NaN);
  if (ms >= minimumMs && ms <= 7 * 24 * UNITS.h!) return ms;
  throw wrongUse(
    `${option} takes a time such as 30s, 30m or 2h, ${minimumMs > 0 ? 'above 0 and ' : ''}at most 7 days; got ${JSON.stringify(text)}`,
  );
}

/** A percentage from 0 to 100 with at most four decimals. */
export function readPercentage(option: string, text: string): number {
  if (/^\d{1,3}(\.\d{1,4})?$/.test(text) && Number(text) <= 100) return Number(text);
  throw wrongUse(
    `${option} takes a number from 0 to 100, with at most four decimals and without a sign; got ${JSON.stringify(text)}`,
  );
}

/** A whole number within bounds. */
export function readWholeNumber(option: string, text: string, minimum: number, maximum: number): number {
  if (/^\d{1,15}$/.test(text) && Number(text) >= minimum && Number(text) <= maximum) return Number(text);
  throw wrongUse(`${option} takes a whole number from ${minimum} to ${maximum}; got ${JSON.stringify(text)}`);
}

/** A UUID, in lower case. */
export function readUuid(option: string, text: string): string {
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)) return text.toLowerCase();
  throw wrongUse(`${option} must be a UUID of 36 characters, but is ${JSON.stringify(text)}`);
}

/** A label: 1 to 512 code points without control characters, as the service accepts it. */
export function readLabel(option: string, text: string): string {
  if (text !== '' && [...text].length <= 512 && text.isWellFormed() && !/[\u0000-\u001f\u007f-\u009f]/.test(text)) return text;
  throw wrongUse(`${option} takes 1 to 512 characters, none of them a line break or another control character`);
}

/** The call options for the value of --idempotency-key: 1 to 255 printable ASCII characters, as the service accepts it. */
export function idempotencyOf(text: string | undefined): { idempotencyKey?: string } {
  if (text === undefined) return {};
  if (isIdempotencyKey(text)) return { idempotencyKey: text };
  throw wrongUse('--idempotency-key takes 1 to 255 printable ASCII characters');
}

/** An RFC 3339 time with its time zone. A time without a zone could be wrong by hours, so it is rejected. */
export function readMoment(option: string, text: string): string {
  const isMoment = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/.test(text);
  if (isMoment && !Number.isNaN(Date.parse(text))) return text;
  throw wrongUse(`${option} takes a time with its time zone, such as 2026-11-20T09:30:00Z; got ${JSON.stringify(text)}`);
}

/** One of `values`. */
export function readOneOf<const T extends string>(option: string, text: string, values: readonly T[]): T {
  const found = values.find((value) => value === text);
  if (found !== undefined) return found;
  throw wrongUse(`${option} takes ${values.join(', ')}; got ${JSON.stringify(text)}`);
}

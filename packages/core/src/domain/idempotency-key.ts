const FORM = /^[\x20-\x7e]{1,255}$/;

/** Whether a value is a valid Idempotency-Key: 1 to 255 printable ASCII characters. */
export const isIdempotencyKey = (value: unknown): value is string => typeof value === 'string' && FORM.test(value);

/** The maximum length of an Idempotency-Key, in characters. */
export const IDEMPOTENCY_KEY_LENGTH_MAX = 255;

const FORM = new RegExp(`^[\\x20-\\x7e]{1,${IDEMPOTENCY_KEY_LENGTH_MAX}}$`);

/** Whether a value is a valid Idempotency-Key: 1 to 255 printable ASCII characters. */
export const isIdempotencyKey = (value: unknown): value is string => typeof value === 'string' && FORM.test(value);

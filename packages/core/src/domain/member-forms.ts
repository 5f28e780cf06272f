// The forms of members of rows and events (docs/formats.md, "Forms"). The functions do not check whether a day or an hour exists.
const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const WHOLE_UUID = new RegExp(`^${UUID}$`);
const RECORDED_BY = new RegExp(`^(?:operator|system:(?:promotion-gate|retention)|key:[0-9a-f]{12}|user:${UUID})$`);

/** Whether a value is a UUID of 36 characters in lower case. */
export const isUuid = (value: unknown): value is string => typeof value === 'string' && WHOLE_UUID.test(value);

/** Whether a value is a writer, as in `recorded_by`. */
export const isRecordedBy = (value: unknown): value is string => typeof value === 'string' && RECORDED_BY.test(value);

/** Whether a value is a time in UTC with exactly three fraction digits, `YYYY-MM-DDThh:mm:ss.sssZ`. */
export const isInstant = (value: unknown): value is string =>
  typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value);

/** Whether a value is a time in UTC with exactly six fraction digits. */
export const isExactInstant = (value: unknown): value is string =>
  typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(value);

/** Whether a value is a date `YYYY-MM-DD`. */
export const isDate = (value: unknown): value is string => typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value);

/** Whether a value is a SHA-256: 64 lower-case hex digits. */
export const isHash = (value: unknown): value is string => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);

/** Returns a check that also accepts null. */
export const orNull =
  (isOfForm: (value: unknown) => boolean) =>
  (value: unknown): boolean =>
    value === null || isOfForm(value);

/** The longest retention period in days: a hundred years. */
export const RETENTION_DAYS_MAX = 36_500;

/**
 * A retention period of fewer days needs a confirmation. Articles 19 and 26(6) of the EU AI Act require logs of high-risk systems to be
 * kept for at least six months.
 */
export const SHORT_RETENTION_DAYS = 183;

import pino, { type DestinationStream, type Logger } from 'pino';

/**
 * The members whose values are redacted in every line. The driver's errors contain the row that violated a rule in `detail`, including
 * password hashes and e-mail addresses, and values of the statement in `where`. Their other members name the rule.
 */
const SECRET = [
  'req.headers.authorization',
  'req.headers.cookie',
  'req.headers["x-service-key"]',
  'err.detail',
  'err.where',
  'err.internalQuery',
];

/** The server's log: one JSON object per line, to stdout by default. */
export const serverLog = (level: string, to?: DestinationStream): Logger => {
  const options = { level, redact: SECRET };
  return to === undefined ? pino(options) : pino(options, to);
};

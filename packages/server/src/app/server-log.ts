import pino, { type DestinationStream, type Logger } from 'pino';

/**
 * Left out of every line. The driver's errors bear in `detail` the row that broke a rule, a password's hash and an e-mail address
 * included, and in `where` values of the statement; what they say besides names the rule.
 */
const SECRET = [
  'req.headers.authorization',
  'req.headers.cookie',
  'req.headers["x-service-key"]',
  'err.detail',
  'err.where',
  'err.internalQuery',
];

/** The server's log: one JSON object a line, to stdout unless told otherwise. */
export const serverLog = (level: string, to?: DestinationStream): Logger => {
  const options = { level, redact: SECRET };
  return to === undefined ? pino(options) : pino(options, to);
};

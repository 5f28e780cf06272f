import pino, { type DestinationStream, type Logger } from 'pino';

/**
 * The members whose values are redacted in every line. In an error of the driver, `detail` can contain the row that violated a constraint,
 * for example with a password hash or an email address. `where` and `internalQuery` can contain values of the statement. The other members
 * of the error still name the constraint.
 */
const SECRET_MEMBERS = [
  'req.headers.authorization',
  'req.headers.cookie',
  'req.headers["x-service-key"]',
  'err.detail',
  'err.where',
  'err.internalQuery',
];

/** The server's log: one JSON object per line, to stdout by default. */
export const serverLog = (level: string, to?: DestinationStream): Logger => {
  const options = { level, redact: SECRET_MEMBERS };
  return to === undefined ? pino(options) : pino(options, to);
};

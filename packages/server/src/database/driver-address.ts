/** The address of a database: a URL, or the socket of the embedded one. */
export type DatabaseAddress = { connectionString: string } | { host: string; port: number; user: string; database: string };

/** Parameters that the server sets for each connection. */
const SET_BY_SERVER = new Set(['application_name', 'query_timeout']);

/**
 * Returns the address without the URL parameters that the server sets, because the driver would use their values in the URL instead. For
 * example, a migration finds running servers by the `application_name` that they set.
 */
export function driverAddress(address: DatabaseAddress): DatabaseAddress {
  if (!('connectionString' in address)) return address;
  const { connectionString } = address;
  const start = connectionString.indexOf('?') + 1;
  if (start === 0) return address;
  const parameters = connectionString.slice(start).split('&');
  const others = parameters.filter((parameter) => !SET_BY_SERVER.has(parameter.split('=')[0]!));
  return { connectionString: connectionString.slice(0, start) + others.join('&') };
}

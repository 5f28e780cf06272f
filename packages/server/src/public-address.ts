import type { Config } from './config.ts';

/**
 * Where people reach the server, without a slash at the end: as configured, or where it listens.
 * @param port the one that it listens on, when it took a free one.
 */
export function publicAddress(config: Pick<Config, 'host' | 'port' | 'tls' | 'publicUrl'>, port = config.port): string {
  const host = config.host.includes(':') ? `[${config.host}]` : config.host;
  return config.publicUrl ?? `${config.tls === undefined ? 'http' : 'https'}://${host}:${port}`;
}

/** Host names that requests may be addressed to; empty where any will do. */
export const allowedHosts = ({ publicUrl, allowedHosts: others }: Pick<Config, 'publicUrl' | 'allowedHosts'>): string[] => [
  ...(publicUrl === undefined ? [] : [new URL(publicUrl).hostname]),
  ...others,
];

import { type Config, isLoopback } from './config.ts';

type AddressConfig = Pick<Config, 'host' | 'port' | 'tls' | 'publicUrl' | 'behindProxy'>;

const WILDCARDS: ReadonlySet<string> = new Set(['0.0.0.0', '::', '[::]']);

/** An origin that a link begins with, without a slash at the end. */
export interface PublicAddress {
  origin: string;
  /** Why other people may not be able to open it, and the remedy; undefined where it is configured or the address of the listener. */
  caution: string | undefined;
}

/**
 * Where people reach the server: as configured, else where it listens. No browser can open a wildcard address, and behind a proxy only the
 * operator knows the address: there the link names this machine, with a caution.
 * @param port the one that it listens on, when it took a free one.
 */
export function publicAddress(config: AddressConfig, port = config.port): PublicAddress {
  if (config.publicUrl !== undefined) return { origin: config.publicUrl, caution: undefined };
  const isKnown = !WILDCARDS.has(config.host) && !config.behindProxy;
  const caution = 'this address works on this machine only; set COUNTERSIGN_PUBLIC_URL to the address that people use';
  return { origin: ownAddress(config, port), caution: isKnown ? undefined : caution };
}

/** Where this machine reaches the server. A certificate names `localhost` rather than a loopback address. */
export function ownAddress({ host, tls }: AddressConfig, port: number): string {
  const loopback = tls === undefined ? '127.0.0.1' : 'localhost';
  const name = WILDCARDS.has(host) ? loopback : host.includes(':') ? `[${host}]` : host;
  return `${tls === undefined ? 'http' : 'https'}://${name}:${port}`;
}

/** Host names that requests may be addressed to; empty where any will do. */
export const allowedHosts = ({ publicUrl, allowedHosts: others }: Pick<Config, 'publicUrl' | 'allowedHosts'>): string[] => [
  ...(publicUrl === undefined ? [] : [new URL(publicUrl).hostname]),
  ...others,
];

/**
 * Whether others than this machine reach the listener: by its address, through a proxy, or by a name that is not this machine's. A listener
 * on loopback that has such a name is behind a proxy, also where nobody says so.
 */
export const isPublic = (config: Pick<Config, 'host' | 'behindProxy' | 'publicUrl' | 'allowedHosts'>): boolean =>
  config.behindProxy || [config.host, ...allowedHosts(config)].some((name) => !isLoopback(name.replace(/^\[(.*)\]$/, '$1')));

import { type Config, isLoopback } from './config.ts';

type AddressConfig = Pick<Config, 'host' | 'port' | 'tls' | 'publicUrl' | 'behindProxy'>;

const WILDCARDS: ReadonlySet<string> = new Set(['0.0.0.0', '::', '[::]']);

/** The origin of links to the portal, without a trailing slash. */
export interface PublicAddress {
  origin: string;
  /**
   * Why others may be unable to open the origin, with the remedy; undefined if the origin is configured or is the address of the listener.
   */
  caution: string | undefined;
}

/**
 * The address where people reach the server: the configured one, or `ownAddress`. If the server listens on a wildcard address or is behind
 * a proxy, the address that people use is unknown. Then the result has a caution.
 * @param port the actual port, if the server has selected a free one.
 */
export function publicAddress(config: AddressConfig, port = config.port): PublicAddress {
  if (config.publicUrl !== undefined) return { origin: config.publicUrl, caution: undefined };
  const isKnown = !WILDCARDS.has(config.host) && !config.behindProxy;
  const origin = ownAddress(config, port);
  const caution = `other machines may be unable to reach ${origin}; set COUNTERSIGN_PUBLIC_URL to the address that people use`;
  return { origin, caution: isKnown ? undefined : caution };
}

/**
 * The address of the server on this machine. In place of a wildcard it has a loopback address, or `localhost` with TLS, because
 * certificates rarely name a loopback address.
 */
export function ownAddress({ host, tls }: AddressConfig, port: number): string {
  const loopback = tls === undefined ? '127.0.0.1' : 'localhost';
  const name = WILDCARDS.has(host) ? loopback : host.includes(':') ? `[${host}]` : host;
  return `${tls === undefined ? 'http' : 'https'}://${name}:${port}`;
}

/**
 * Whether browsers use TLS. If a public URL is configured, its scheme decides. Otherwise browsers use TLS if this server uses TLS, or if
 * it is behind a proxy, which must use TLS.
 */
export const usesTls = ({ publicUrl, tls, behindProxy }: Pick<Config, 'publicUrl' | 'tls' | 'behindProxy'>): boolean =>
  publicUrl === undefined ? tls !== undefined || behindProxy : publicUrl.startsWith('https:');

/** The configured host names for requests (http/request-host.ts); empty if any host is allowed. */
export const allowedHosts = ({ publicUrl, allowedHosts: others }: Pick<Config, 'publicUrl' | 'allowedHosts'>): string[] => [
  ...(publicUrl === undefined ? [] : [new URL(publicUrl).hostname]),
  ...others,
];

/**
 * Whether other machines can reach the server: by its address, through a proxy, or by a public host name. A listener on loopback that has a
 * public host name counts as behind a proxy, even if no proxy is configured.
 */
export const isPublic = (config: Pick<Config, 'host' | 'behindProxy' | 'publicUrl' | 'allowedHosts'>): boolean =>
  config.behindProxy || [config.host, ...allowedHosts(config)].some((name) => !isLoopback(name.replace(/^\[(.*)\]$/, '$1')));

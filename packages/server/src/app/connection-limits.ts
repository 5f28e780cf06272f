import { type Config, isLoopback } from '../config/config.ts';
import type { ConnectionLimits } from '../http/connections.ts';

/** The default limit of connections from one address. */
const PER_ADDRESS_MAX = 1024;

/**
 * The limits of connections. Behind a proxy and on loopback, all connections may come from one address, so there the limit per address has
 * no default.
 */
export function connectionLimits(config: Config): ConnectionLimits {
  const mayShareAddress = config.behindProxy || isLoopback(config.host);
  return {
    connectionsMax: config.connectionsMax,
    perAddressMax: config.connectionsPerAddressMax ?? (mayShareAddress ? undefined : PER_ADDRESS_MAX),
    sendTimeoutMs: config.sendTimeoutSeconds * 1000,
  };
}

import { isIPv6 } from 'node:net';

/**
 * The network of a client. An IPv6 client can use a whole /64, so a /64 counts as one network. Ports, which some proxies add, are ignored.
 */
export function networkOf(client: string): string {
  const address = /^\[(.+)\](:\d+)?$/.exec(client)?.[1] ?? /^([\d.]+):\d+$/.exec(client)?.[1] ?? client;
  if (!isIPv6(address) || address.includes('.')) return address.replace(/^::ffff:/i, '');
  const [left = '', right] = address.split('%')[0]!.split('::');
  const groups = (text: string | undefined) => (text === undefined || text === '' ? [] : text.split(':'));
  const [head, tail] = [groups(left), groups(right)];
  const zeros = right === undefined ? [] : Array<string>(8 - head.length - tail.length).fill('0');
  const network = [...head, ...zeros, ...tail].slice(0, 4);
  return network.map((group) => Number.parseInt(group, 16).toString(16)).join(':');
}

/** The lowest and the highest UUID. The server assigns neither, but a row that was inserted outside the server may have one of them. */
export const LOWEST_ID = '00000000-0000-0000-0000-000000000000';
export const HIGHEST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** The UUID directly after another one; undefined after the highest. */
export function idAfter(id: string): string | undefined {
  if (id === HIGHEST_ID) return undefined;
  const digits = (BigInt(`0x${id.replaceAll('-', '')}`) + 1n).toString(16).padStart(32, '0');
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** An exact decimal: digits / 10^scale. */
interface Decimal {
  digits: bigint;
  scale: number;
}

/**
 * Returns the exact sum of finite, non-negative numbers, in plain notation: 0.1 + 0.2 is "0.3". Each number counts as the decimal that
 * String() prints, the shortest one that denotes the same double.
 */
export function decimalSum(numbers: readonly number[]): string {
  return decimalText(numbers.map(decimalOf).reduce(add, { digits: 0n, scale: 0 }));
}

/** Writes a finite, non-negative number in plain notation, without an exponent: 1e-7 is "0.0000001". */
export function plainDecimal(number: number): string {
  const printed = String(number);
  return printed.includes('e') ? decimalText(parseDecimal(printed)) : printed;
}

const decimalOf = (number: number): Decimal => parseDecimal(String(number));

function parseDecimal(text: string): Decimal {
  const [mantissa = '0', exponent = '0'] = text.split('e');
  const [whole = '0', fraction = ''] = mantissa.split('.');
  const scale = fraction.length - Number(exponent);
  const digits = BigInt(whole + fraction);
  return scale < 0 ? { digits: digits * 10n ** BigInt(-scale), scale: 0 } : { digits, scale };
}

function add(left: Decimal, right: Decimal): Decimal {
  const scale = Math.max(left.scale, right.scale);
  const digitsAtScale = (decimal: Decimal) =>
    decimal.scale === scale ? decimal.digits : decimal.digits * 10n ** BigInt(scale - decimal.scale);
  return { digits: digitsAtScale(left) + digitsAtScale(right), scale };
}

function decimalText({ digits, scale }: Decimal): string {
  if (scale === 0) return digits.toString();
  const padded = digits.toString().padStart(scale + 1, '0');
  const fraction = padded.slice(-scale).replace(/0+$/, '');
  return padded.slice(0, -scale) + (fraction === '' ? '' : '.' + fraction);
}

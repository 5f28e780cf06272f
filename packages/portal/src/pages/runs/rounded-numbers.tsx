import { formatCount } from '../../components/number-format.ts';

/** A note that large whole numbers in a parsed JSON value can be rounded. Shows nothing if the value has no such number. */
export const RoundedNumbers = ({ value }: { value: unknown }) =>
  hasUnsafeInteger(value) ? (
    <p className="soft">
      Whole numbers above {formatCount(Number.MAX_SAFE_INTEGER)} can be rounded here. The original request has all digits.
    </p>
  ) : null;

function hasUnsafeInteger(value: unknown): boolean {
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(hasUnsafeInteger);
}

const whole = new Intl.NumberFormat('en-US');
const compact = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });

/** A count in full: `12,480`; a dash if it is unknown. */
export const formatCount = (value: number | null | undefined): string => (value == null ? '–' : whole.format(value));

/** A count with its noun: `1 entry`, `12,480 entries`. */
export const formatCountOf = (value: number, singular: string, plural: string): string =>
  `${formatCount(value)} ${value === 1 ? singular : plural}`;

/** A short count: `9,999`, and `12.5K` from ten thousand on. */
export const formatShortCount = (value: number): string => (value < 10_000 ? whole.format(value) : compact.format(value));

/** Dollars from a number or an exact decimal: two decimals from ten cents on, otherwise up to three significant digits. */
export function formatDollars(decimal: string | number | null | undefined): string {
  if (decimal == null) return '–';
  const value = Number(decimal);
  if (value === 0) return '$0';
  if (value >= 0.1) return `$${value.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
  return `$${value.toLocaleString('en-US', { maximumSignificantDigits: 3, maximumFractionDigits: 8 })}`;
}

const shortMoney = new Intl.NumberFormat('en-US', {
  style: 'currency',
  currency: 'USD',
  notation: 'compact',
  minimumFractionDigits: 0,
  maximumFractionDigits: 1,
});

/** Short dollars: `$1.2K` from a thousand on. */
export const formatShortDollars = (value: number): string => (value < 1_000 ? formatDollars(value) : shortMoney.format(value));

/** A pass rate: `92.5 %`. It is truncated to four decimals, because 79.99996 must not be shown as 80 if the threshold is 80. */
export const formatPercent = (value: number | null | undefined): string =>
  value == null ? '–' : `${value.toLocaleString('en-US', { maximumFractionDigits: 4, roundingMode: 'trunc' })} %`;

/** A duration: `420 ms`, `3.2 s`, `4 min 5 s`, `2 h 10 min`. It is rounded before it is split into units, so 59.99 s is `1 min 0 s`. */
export function formatDuration(ms: number | null | undefined): string {
  if (ms == null) return '–';
  if (Math.round(ms) < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1_000).toLocaleString('en-US', { maximumFractionDigits: ms < 10_000 ? 2 : 1 })} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.round(seconds / 60);
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** An age in words: minutes if it is less than one hour, hours if it is less than two days, otherwise days. */
export function formatAge(hours: number): string {
  if (hours < 0) return 'in the future';
  if (hours < 1 / 60) return 'less than a minute';
  if (hours < 1) return `${Math.round(hours * 60)} min`;
  return hours < 48 ? `${hours.toFixed(1)} hours` : `${(hours / 24).toFixed(1)} days`;
}

/** A number of bytes with a unit; 1 KB is 1,024 bytes. */
export const formatBytes = (value: number): string =>
  value < 1_024 ? `${value} B` : value < 1_048_576 ? `${(value / 1_024).toFixed(1)} KB` : `${(value / 1_048_576).toFixed(1)} MB`;

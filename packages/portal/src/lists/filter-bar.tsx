import { CloseButton, NativeSelect, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { Children, type ReactNode, useEffect, useId, useRef, useState } from 'react';
import styles from './filter-bar.module.css';
import { type Filters, isValidFilter, startOfDay } from './use-filters.ts';

/** If a list has more filters than this, phones show the first two, the filters that are set, and a button that shows the others. */
const COLLAPSED_ABOVE = 3;

/** The filters above a list. */
export function FilterBar({ filters, children }: { filters: Filters<string>; children: ReactNode }) {
  const [isOpen, setIsOpen] = useState(false);
  const isCollapsible = Children.count(children) > COLLAPSED_ABOVE;
  return (
    <search className={styles.bar} data-collapsed={(isCollapsible && !isOpen) || undefined}>
      {children}
      {isCollapsible && (
        <button type="button" className={styles.more} aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
          {isOpen ? 'Fewer filters' : 'More filters'}
        </button>
      )}
      {filters.hasValues && (
        <button type="button" className={styles.clear} onClick={filters.clear}>
          Clear
        </button>
      )}
    </search>
  );
}

/** The class of a filter that is set. Phones always show such a filter, because it explains why the list is short. */
export const activeFilterClass = styles.set as string;

const TYPING_PAUSE_MS = 350;

/**
 * The text in the field of a filter. TYPING_PAUSE_MS after the last change, `toValue` converts the text to the value of the filter. So the
 * text can differ from this value, for example while the text is an incomplete ID.
 */
function useTypedFilter<N extends string>(filters: Filters<N>, name: N, toValue: (input: string) => string) {
  const current = filters.values[name] ?? '';
  const [input, setInput] = useState(current);
  const applied = useRef(current);
  const apply = (text: string) => {
    applied.current = toValue(text);
    filters.set({ [name]: applied.current || undefined } as never);
  };
  const applySoon = useDebouncedCallback(apply, TYPING_PAUSE_MS);
  useEffect(() => {
    // A value that this field applied returns through the URL, possibly late. It must not replace newer input.
    if (current === applied.current) return;
    applied.current = current;
    applySoon.cancel();
    setInput(current);
  }, [current, applySoon]);
  return {
    input,
    type: (text: string) => {
      setInput(text);
      applySoon(text);
    },
    clear: () => {
      applySoon.cancel();
      setInput('');
      apply('');
    },
  };
}

/** A free-text filter. It is applied TYPING_PAUSE_MS after the last change. An incomplete ID is not applied. */
export function FilterText<N extends string>({
  filters,
  name,
  label,
  placeholder,
  search = false,
  displayNames = NO_NAMES,
}: {
  filters: Filters<N>;
  name: N;
  label: string;
  placeholder?: string;
  /** Whether the filter searches several fields. It is then wider, for a longer placeholder. */
  search?: boolean;
  /** Display names of some values. They are shown, suggested and accepted in place of the values. */
  displayNames?: ReadonlyMap<string, string>;
}) {
  const suggestions = useId();
  const current = filters.values[name] ?? '';
  const isValid = (text: string) => text === '' || isValidFilter(name, text);
  const { input, type, clear } = useTypedFilter(filters, name, (text) => {
    const value = valueForName(displayNames, text.trim());
    return isValid(value) ? value : '';
  });
  return (
    <>
      <TextInput
        size="xs"
        className={`${search ? styles.search : ''} ${current === '' ? '' : activeFilterClass}`}
        aria-label={label}
        placeholder={placeholder ?? label}
        value={displayNames.get(input) ?? input}
        list={displayNames.size > 0 ? suggestions : undefined}
        leftSection={<IconSearch size={14} aria-hidden />}
        rightSection={input === '' ? undefined : <CloseButton size="xs" aria-label={`Clear ${label}`} onClick={clear} />}
        onChange={({ currentTarget }) => type(currentTarget.value)}
        error={isValid(input.trim()) ? undefined : 'Enter a complete ID.'}
      />
      {displayNames.size > 0 && (
        <datalist id={suggestions}>
          {[...displayNames].map(([value, text]) => (
            <option key={value} value={text} />
          ))}
        </datalist>
      )}
    </>
  );
}

const NO_NAMES: ReadonlyMap<string, string> = new Map();

/** The value with this display name, ignoring case; otherwise the input itself. */
function valueForName(displayNames: ReadonlyMap<string, string>, input: string): string {
  const [value = input] = [...displayNames].find(([, text]) => text.toLowerCase() === input.toLowerCase()) ?? [];
  return value;
}

/** A filter with a few options. The first option, `all`, sets no filter. */
export function FilterSelect<N extends string>(props: {
  filters: Filters<N>;
  name: N;
  label: string;
  all: string;
  options: readonly (string | { value: string; label: string })[];
}) {
  const { filters, name, label, all, options } = props;
  const current = filters.values[name];
  const choices = options.map((each) => (typeof each === 'string' ? { value: each, label: each } : each));
  // The value in a shared link may not be one of the options, or the options may still be loading. So the value is added as an option.
  if (current !== undefined && !choices.some(({ value }) => value === current)) choices.push({ value: current, label: current });
  return (
    <NativeSelect
      size="xs"
      className={current === undefined ? undefined : activeFilterClass}
      aria-label={label}
      value={current ?? ''}
      data={[{ value: '', label: all }, ...choices]}
      onChange={({ currentTarget }) => filters.set({ [name]: currentTarget.value || undefined } as never)}
    />
  );
}

/** A range of days in the reader's time zone. */
export function FilterDays({ filters }: { filters: Filters<'from' | 'to'> }) {
  return (
    <span
      className={`${styles.days} ${filters.values.from === undefined && filters.values.to === undefined ? '' : activeFilterClass}`}
    >
      <FilterDay filters={filters} name="from" label="From" />
      <FilterDay filters={filters} name="to" label="To" />
    </span>
  );
}

function FilterDay({ filters, name, label }: { filters: Filters<'from' | 'to'>; name: 'from' | 'to'; label: string }) {
  // While a person types the year 2026, browsers report the years 2, 20 and 202. Years below 100 set no filter.
  const { input, type } = useTypedFilter(filters, name, (day) => (startOfDay(day) === undefined ? '' : day));
  return (
    <TextInput
      size="xs"
      type="date"
      aria-label={label}
      leftSection={<span className={styles.prefix}>{label}</span>}
      leftSectionWidth={44}
      value={input}
      onChange={({ currentTarget }) => type(currentTarget.value)}
    />
  );
}

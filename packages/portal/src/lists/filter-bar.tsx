import { CloseButton, NativeSelect, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { Children, type ReactNode, useEffect, useId, useRef, useState } from 'react';
import styles from './filter-bar.module.css';
import type { Filters } from './use-filters.ts';

/** More filters than this fold away at phone width. */
const FOLDED_AT = 3;

/** The filters above a list. */
export function FilterBar({ filters, children }: { filters: Filters<string>; children: ReactNode }) {
  const [open, setOpen] = useState(false);
  const many = Children.count(children) > FOLDED_AT;
  return (
    <search className={styles.bar} data-folded={(many && !open) || undefined}>
      {children}
      {many && (
        <button type="button" className={styles.more} aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? 'Fewer filters' : 'More filters'}
        </button>
      )}
      {filters.any && (
        <button type="button" className={styles.clear} onClick={filters.clear}>
          Clear
        </button>
      )}
    </search>
  );
}

const TYPING_MS = 350;

/** Free text; what is typed is asked for when typing stops. */
export function FilterText<N extends string>({
  filters,
  name,
  label,
  placeholder,
  called = NOTHING,
}: {
  filters: Filters<N>;
  name: N;
  label: string;
  placeholder?: string;
  /** What people call some values: shown and offered in their place, and typed for them. */
  called?: ReadonlyMap<string, string>;
}) {
  const offered = useId();
  const held = filters.values[name] ?? '';
  const [typed, setTyped] = useState(held);
  const asked = useRef(held);
  const ask = (text: string) => {
    asked.current = valueCalled(called, text.trim());
    filters.set({ [name]: asked.current || undefined } as never);
  };
  const askSoon = useDebouncedCallback(ask, TYPING_MS);
  const clear = () => {
    askSoon.cancel();
    setTyped('');
    ask('');
  };
  useEffect(() => {
    // What comes back of one's own asking has lost its blanks, and may be older than what was typed since.
    if (held === asked.current) return;
    asked.current = held;
    askSoon.cancel();
    setTyped(held);
  }, [held, askSoon]);
  return (
    <>
      <TextInput
        size="xs"
        aria-label={label}
        placeholder={placeholder ?? label}
        value={called.get(typed) ?? typed}
        list={called.size > 0 ? offered : undefined}
        leftSection={<IconSearch size={14} aria-hidden />}
        rightSection={typed === '' ? undefined : <CloseButton size="xs" aria-label={`Clear ${label}`} onClick={clear} />}
        onChange={({ currentTarget }) => {
          setTyped(currentTarget.value);
          askSoon(currentTarget.value);
        }}
      />
      {called.size > 0 && (
        <datalist id={offered}>
          {[...called].map(([value, text]) => (
            <option key={value} value={text} />
          ))}
        </datalist>
      )}
    </>
  );
}

const NOTHING: ReadonlyMap<string, string> = new Map();

/** The value that is called so, in whatever letters; what is typed itself where none is. */
function valueCalled(called: ReadonlyMap<string, string>, typed: string): string {
  const [value = typed] = [...called].find(([, text]) => text.toLowerCase() === typed.toLowerCase()) ?? [];
  return value;
}

/** One of a few; the first choice lets everything through. */
export function FilterSelect<N extends string>(props: {
  filters: Filters<N>;
  name: N;
  label: string;
  all: string;
  options: readonly (string | { value: string; label: string })[];
}) {
  const { filters, name, label, all, options } = props;
  const held = filters.values[name];
  const choices = options.map((each) => (typeof each === 'string' ? { value: each, label: each } : each));
  // What a link asks for stands in the list even where it is none of the choices, or they are not there yet.
  if (held !== undefined && !choices.some(({ value }) => value === held)) choices.push({ value: held, label: held });
  return (
    <NativeSelect
      size="xs"
      aria-label={label}
      value={held ?? ''}
      data={[{ value: '', label: all }, ...choices]}
      onChange={({ currentTarget }) => filters.set({ [name]: currentTarget.value || undefined } as never)}
    />
  );
}

/** From one day of the reader's calendar to another: two that stay side by side. */
export function FilterDays({ filters }: { filters: Filters<'from' | 'to'> }) {
  const day = (name: 'from' | 'to', label: string) => (
    <TextInput
      size="xs"
      type="date"
      aria-label={label}
      leftSection={<span className={styles.prefix}>{label}</span>}
      leftSectionWidth={44}
      value={filters.values[name] ?? ''}
      onChange={({ currentTarget }) => filters.set({ [name]: currentTarget.value || undefined })}
    />
  );
  return (
    <span className={styles.days}>
      {day('from', 'From')}
      {day('to', 'To')}
    </span>
  );
}

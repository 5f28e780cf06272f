import { CloseButton, NativeSelect, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { type ReactNode, useEffect, useState } from 'react';
import styles from './filter-bar.module.css';
import type { Filters } from './use-filters.ts';

/** The filters above a list. */
export function FilterBar({ filters, children }: { filters: Filters<string>; children: ReactNode }) {
  return (
    <search className={styles.bar}>
      {children}
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
}: {
  filters: Filters<N>;
  name: N;
  label: string;
  placeholder?: string;
}) {
  const held = filters.values[name] ?? '';
  const [typed, setTyped] = useState(held);
  useEffect(() => setTyped(held), [held]);
  const ask = useDebouncedCallback((text: string) => filters.set({ [name]: text.trim() || undefined } as never), TYPING_MS);
  return (
    <TextInput
      size="xs"
      aria-label={label}
      placeholder={placeholder ?? label}
      value={typed}
      leftSection={<IconSearch size={14} aria-hidden />}
      rightSection={
        typed === '' ? undefined : (
          <CloseButton size="xs" aria-label={`Clear ${label}`} onClick={() => filters.set({ [name]: undefined } as never)} />
        )
      }
      onChange={({ currentTarget }) => {
        setTyped(currentTarget.value);
        ask(currentTarget.value);
      }}
    />
  );
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
  return (
    <NativeSelect
      size="xs"
      aria-label={label}
      value={filters.values[name] ?? ''}
      data={[
        { value: '', label: all },
        ...options.map((each) => (typeof each === 'string' ? { value: each, label: each } : each)),
      ]}
      onChange={({ currentTarget }) => filters.set({ [name]: currentTarget.value || undefined } as never)}
    />
  );
}

/** A day of the reader's calendar. */
export function FilterDay<N extends string>({ filters, name, label }: { filters: Filters<N>; name: N; label: string }) {
  return (
    <TextInput
      size="xs"
      type="date"
      aria-label={label}
      leftSection={<span className={styles.prefix}>{label}</span>}
      leftSectionWidth={44}
      value={filters.values[name] ?? ''}
      onChange={({ currentTarget }) => filters.set({ [name]: currentTarget.value || undefined } as never)}
    />
  );
}

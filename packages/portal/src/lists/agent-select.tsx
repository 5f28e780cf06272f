import { visibleSpaces } from '@countersign/core/domain/visible-spaces';
import { Select } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { call } from '../api/call.ts';
import { useWorkspace } from '../api/session.ts';
import { activeFilterClass } from './filter-bar.tsx';
import type { Filters } from './use-filters.ts';

const TYPING_PAUSE_MS = 250;

/** A field that selects an agent by name. The server searches, so the field works with any number of agents. `small` is for filters. */
export function AgentSelect(props: {
  value: string | null;
  onChange: (agent: string | null) => void;
  label?: string;
  error?: ReactNode;
  small?: boolean;
  required?: boolean;
}) {
  const { value, onChange, label, error, small = false, required = false } = props;
  const { workspace } = useWorkspace();
  const [searchText, setSearchText] = useState('');
  const [search] = useDebouncedValue(searchText.trim(), TYPING_PAUSE_MS);
  const matches = useQuery({
    queryKey: ['agents', workspace.id, 'select', search],
    queryFn: ({ signal }) =>
      call('agents.list', {
        params: { workspace: workspace.id },
        query: { limit: '50', archived: 'included', ...(search === '' ? {} : { search }) },
        signal,
      }),
    placeholderData: keepPreviousData,
  });
  const selectedAgent = useQuery({
    queryKey: ['agent', workspace.id, value],
    queryFn: ({ signal }) => call('agents.read', { params: { workspace: workspace.id, agent: value ?? '' }, signal }),
    enabled: value !== null,
  });
  const options = new Map((matches.data?.items ?? []).map(({ id, name }) => [id, visibleSpaces(name)]));
  if (selectedAgent.data !== undefined) options.set(selectedAgent.data.id, visibleSpaces(selectedAgent.data.name));
  return (
    <Select
      size={small ? 'xs' : 'sm'}
      className={small && value !== null ? activeFilterClass : undefined}
      {...(label === undefined || small ? { 'aria-label': label ?? 'Agent' } : { label })}
      placeholder={small ? 'All agents' : 'Choose an agent'}
      data={[...options].map(([id, name]) => ({ value: id, label: name }))}
      value={value}
      onChange={(next) => {
        setSearchText('');
        onChange(next);
      }}
      searchable
      // A form focuses the field after an error. An open list would cover the other errors.
      openOnFocus={false}
      clearable={small}
      clearButtonProps={{ 'aria-label': 'All agents' }}
      // The server has already filtered the options.
      filter={({ options: all }) => all}
      onSearchChange={(text) => setSearchText(text === options.get(value ?? '') ? '' : text)}
      nothingFoundMessage={matches.isError ? 'The agents could not be loaded. Reload the page.' : 'No matching agent'}
      error={error}
      withAsterisk={required}
      checkIconPosition="right"
    />
  );
}

/** A filter by agent. */
export const FilterAgent = <N extends string>({ filters, name }: { filters: Filters<N>; name: N }) => (
  <AgentSelect
    small
    value={filters.values[name] ?? null}
    onChange={(agent) => filters.set({ [name]: agent ?? undefined } as never)}
  />
);

import { Button } from '@mantine/core';
import { keepPreviousData, type QueryKey, useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { LoadedContent } from '../components/loaded-content.tsx';
import styles from './cursor-list.module.css';
import { type Column, DataTable } from './data-table.tsx';
import { EmptyState } from './empty-state.tsx';
import { TableSkeleton } from './table-skeleton.tsx';
import type { Filters } from './use-filters.ts';

interface Page<T> {
  items: readonly T[];
  next: string | null;
}

/**
 * A list with cursor pagination. Its cursor and filters are in the URL. While other rows load, the previous rows stay and are dimmed.
 * `empty` is shown if no filter is set and there are no records.
 */
export function CursorList<T>(props: {
  label: string;
  queryKey: QueryKey;
  load: (cursor: string | undefined, signal: AbortSignal) => Promise<Page<T>>;
  filters: Filters<string>;
  columns: readonly Column<T>[];
  keyOf: (item: T) => string;
  empty: ReactNode;
}) {
  const { label, queryKey, load, filters, columns, keyOf, empty } = props;
  const list = useQuery({
    queryKey: [...queryKey, filters.values, filters.cursor ?? null],
    queryFn: ({ signal }) => load(filters.cursor, signal),
    placeholderData: keepPreviousData,
  });
  const skeleton = <TableSkeleton columns={columns.length} />;
  return (
    <LoadedContent query={list} skeleton={skeleton} inset>
      {({ items, next }) => {
        // If the previous list has no rows, the next list can still have some.
        if (items.length === 0 && list.isPlaceholderData) return skeleton;
        if (items.length === 0 && filters.cursor === undefined)
          return filters.hasValues ? <NoMatches filters={filters} /> : empty;
        return (
          <>
            <DataTable label={label} columns={columns} items={items} keyOf={keyOf} dimmed={list.isPlaceholderData} />
            {(next !== null || filters.cursor !== undefined) && <Pager label={label} filters={filters} next={next} />}
          </>
        );
      }}
    </LoadedContent>
  );
}

const NoMatches = ({ filters }: { filters: Filters<string> }) => (
  <EmptyState title="No matches">
    <p>No records match the filters.</p>
    <Button variant="default" size="xs" onClick={filters.clear}>
      Clear filters
    </Button>
  </EmptyState>
);

/** Buttons for the previous and next page. If a shared link opened the list, the first button leads to the first page. */
function Pager({ label, filters, next }: { label: string; filters: Filters<string>; next: string | null }) {
  const { cursor, previousCursors, goTo } = filters;
  const goBack = () => goTo(previousCursors.at(-1) || undefined, previousCursors.slice(0, -1));
  return (
    <nav className={styles.pager} aria-label={`Pages of ${label}`}>
      <Button variant="default" size="xs" disabled={cursor === undefined} onClick={goBack}>
        {cursor !== undefined && previousCursors.length === 0 ? 'First page' : 'Previous page'}
      </Button>
      <Button
        variant="default"
        size="xs"
        disabled={next === null}
        onClick={() => goTo(next ?? undefined, [...previousCursors, cursor ?? ''])}
      >
        Next page
      </Button>
    </nav>
  );
}

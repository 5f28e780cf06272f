import { Button } from '@mantine/core';
import { keepPreviousData, type QueryKey, useQuery } from '@tanstack/react-query';
import { type ReactNode, useRef } from 'react';
import { ProblemNotice } from '../pieces/problem-notice.tsx';
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
 * A list that the server pages: one page at a time, where the address bar says. While another page or filter loads, the one
 * before stays, dimmed; with nothing in it at all it says what to do next (`empty`).
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
  const before = useRef<(string | undefined)[]>([]);
  const list = useQuery({
    queryKey: [...queryKey, filters.values, filters.cursor ?? null],
    queryFn: ({ signal }) => load(filters.cursor, signal),
    placeholderData: keepPreviousData,
  });
  if (list.isPending) return <TableSkeleton columns={columns.length} />;
  if (list.isError && list.data === undefined) {
    return (
      <div className={styles.inset}>
        <ProblemNotice problem={list.error} retry={() => void list.refetch()} />
      </div>
    );
  }
  const { items, next } = list.data;
  if (items.length === 0 && filters.cursor === undefined) {
    if (!filters.any) return empty;
    return (
      <EmptyState title="Nothing matches">
        <p>Nothing here matches the filters.</p>
        <Button variant="default" size="xs" onClick={filters.clear}>
          Clear the filters
        </Button>
      </EmptyState>
    );
  }
  const older = () => {
    before.current.push(filters.cursor);
    filters.goTo(next ?? undefined);
  };
  return (
    <>
      <DataTable label={label} columns={columns} items={items} keyOf={keyOf} dimmed={list.isPlaceholderData} />
      {(next !== null || filters.cursor !== undefined) && (
        <nav className={styles.pager} aria-label={`Pages of ${label}`}>
          <Button
            variant="default"
            size="xs"
            disabled={filters.cursor === undefined}
            onClick={() => filters.goTo(before.current.pop())}
          >
            Previous page
          </Button>
          <Button variant="default" size="xs" disabled={next === null} onClick={older}>
            Next page
          </Button>
        </nav>
      )}
    </>
  );
}

import { type ComponentType, use, useEffect, useReducer, useState, useSyncExternalStore } from 'react';
import { connection } from '../api/connection.ts';
import { isServerUp, PageNotLoaded } from './page-not-loaded.tsx';

/** The loaders of all pages, in the order of the routes. */
const loaders: (() => Promise<void>)[] = [];

/**
 * A page whose code loads on the first visit, or earlier if preloadPages loads it. The router's own lazy components reload the document if
 * the code cannot be loaded. While the server is down, a reload would show the browser's error page.
 */
export function lazyPage<const N extends string>(load: () => Promise<Record<N, ComponentType>>, name: N) {
  let page: ComponentType | undefined;
  let loading: Promise<void> | undefined;
  let hasFailed = false;
  /** Loads the code. Never rejects: the page itself shows a failure. */
  const preload = (): Promise<void> => {
    loading ??= load()
      .then(
        (module) => {
          page = module[name];
        },
        async () => {
          await isServerUp(); // Records whether the server responds, for the notice.
          hasFailed = page === undefined;
        },
      )
      .finally(() => {
        loading = undefined;
      });
    return loading;
  };
  loaders.push(async () => {
    if (page === undefined) await preload();
  });
  function LazyPage() {
    const [, render] = useReducer((count: number) => count + 1, 0);
    if (page === undefined && !hasFailed) use(preload());
    const Page = page;
    return Page === undefined ? <PageLoadRetry load={preload} onLoaded={render} /> : <Page />;
  }
  return Object.assign(LazyPage, { preload });
}

/** Replaces a page that was not loaded. Loads it again on demand, and automatically when the server is back. */
function PageLoadRetry({ load, onLoaded }: { load: () => Promise<void>; onLoaded: () => void }) {
  const isLost = useSyncExternalStore(connection.subscribe, connection.isLost);
  const [isRetrying, setIsRetrying] = useState(false);
  const [wasLost, setWasLost] = useState(isLost);
  const retry = async () => {
    setIsRetrying(true);
    await load();
    setIsRetrying(false);
    onLoaded();
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a change of the connection runs this effect.
  useEffect(() => {
    if (wasLost && !isLost) void retry();
    setWasLost(isLost);
  }, [isLost]);
  return <PageNotLoaded isConnectionLost={isLost} isRetrying={isRetrying} onRetry={() => void retry()} />;
}

/**
 * Loads the code of all pages, so that they open while the server is down. Skips pages whose code cannot be loaded. If the connection
 * is lost, starts again when it is restored.
 */
export async function preloadPages(): Promise<void> {
  for (const load of loaders) {
    await load();
    if (!connection.isLost()) continue;
    const stop = connection.subscribe(() => {
      if (connection.isLost()) return;
      stop();
      void preloadPages();
    });
    return;
  }
}

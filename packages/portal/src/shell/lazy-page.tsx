import { type ComponentType, use, useEffect, useReducer, useState, useSyncExternalStore } from 'react';
import { connection } from '../api/connection.ts';
import { PageNotLoaded, serverAnswers } from './page-not-loaded.tsx';

/** The loaders of all pages, in the order of the routes. */
const loaders: (() => Promise<void>)[] = [];

/**
 * A page whose code is loaded when somebody goes there, or ahead of that by preloadPages. The router's own lazy components reload the
 * document when the code cannot be loaded; with the server away, that leaves the browser's error screen.
 */
export function lazyPage<const N extends string>(load: () => Promise<Record<N, ComponentType>>, name: N) {
  let page: ComponentType | undefined;
  let loading: Promise<void> | undefined;
  let failed = false;
  /** Never rejects: the page says itself what failed. */
  const preload = (): Promise<void> => {
    loading ??= load()
      .then(
        (module) => {
          page = module[name];
        },
        async () => {
          await serverAnswers();
          failed = page === undefined;
        },
      )
      .finally(() => {
        loading = undefined;
      });
    return loading;
  };
  loaders.push(async () => {
    if (page === undefined) await preload();
    if (page === undefined) throw new Error('the code of a page could not be loaded');
  });
  function LazyPage() {
    const [, render] = useReducer((count: number) => count + 1, 0);
    if (page === undefined && !failed) use(preload());
    const Page = page;
    return Page === undefined ? <Failed load={preload} onLoaded={render} /> : <Page />;
  }
  return Object.assign(LazyPage, { preload });
}

/** Tries again on demand, and by itself when the server is back. */
function Failed({ load, onLoaded }: { load: () => Promise<void>; onLoaded: () => void }) {
  const lost = useSyncExternalStore(connection.subscribe, connection.isLost);
  const [trying, setTrying] = useState(false);
  const [wasLost, setWasLost] = useState(lost);
  const tryAgain = async () => {
    setTrying(true);
    await load();
    setTrying(false);
    onLoaded();
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: only the return of the connection tries again.
  useEffect(() => {
    if (wasLost && !lost) void tryAgain();
    setWasLost(lost);
  }, [lost]);
  return <PageNotLoaded lost={lost} trying={trying} tryAgain={() => void tryAgain()} />;
}

/** Loads the code of all pages, one after the other, so that they open while the server is away. Goes on when a lost connection is back. */
export async function preloadPages(): Promise<void> {
  try {
    for (const load of loaders) await load();
  } catch {
    const stop = connection.subscribe(() => {
      if (connection.isLost()) return;
      stop();
      void preloadPages();
    });
  }
}

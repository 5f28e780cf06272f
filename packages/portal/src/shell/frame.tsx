import { Outlet, useRouterState } from '@tanstack/react-router';
import { type ReactNode, useEffect, useState } from 'react';
import type { Session } from '../api/session.ts';
import { ColorSchemeToggle } from './color-scheme-toggle.tsx';
import styles from './frame.module.css';
import { PersonMenu } from './person-menu.tsx';
import { Wordmark } from './wordmark.tsx';

/**
 * The frame of all pages after sign-in, with the navigation bar. In windows up to 1000 pixels wide, a menu button shows and hides the
 * navigation. `top` is shown above the links, for example the workspace switcher. `children` returns the links, which call `close` to hide
 * the navigation. `page` replaces the page of the route.
 */
export function Frame({
  person,
  top,
  page = <Outlet />,
  children,
}: {
  person: Session['person'];
  top?: ReactNode;
  page?: ReactNode;
  children: (close: () => void) => ReactNode;
}) {
  const [isOpen, setIsOpen] = useState(false);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  // biome-ignore lint/correctness/useExhaustiveDependencies: a page change hides the navigation.
  useEffect(() => setIsOpen(false), [path]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => event.key === 'Escape' && setIsOpen(false);
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
  return (
    <div className={styles.frame}>
      <a className={styles.skip} href="#page">
        Skip to content
      </a>
      <header className={styles.bar} data-open={isOpen || undefined}>
        <div className={styles.head}>
          <Wordmark />
          <button
            type="button"
            className={styles.burger}
            aria-expanded={isOpen}
            aria-controls="navigation"
            aria-label={isOpen ? 'Close the menu' : 'Open the menu'}
            onClick={() => setIsOpen(!isOpen)}
          >
            <span />
            <span />
          </button>
        </div>
        <div id="navigation" className={styles.collapsible}>
          {top}
          <div className={styles.scroll}>{children(() => setIsOpen(false))}</div>
          <div className={styles.foot}>
            <PersonMenu person={person} />
            <ColorSchemeToggle />
          </div>
        </div>
      </header>
      <main id="page" className={styles.page} tabIndex={-1}>
        {page}
      </main>
    </div>
  );
}

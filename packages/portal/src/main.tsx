import { MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import './theme/mantine.css';
import './theme/fonts.css';
import './theme/tokens.css';
import './theme/base.css';
import { setDisplayedPersonReader } from './api/call.ts';
import { queryClient, setSignedOutHandler } from './api/query-client.ts';
import { sessionQuery } from './api/session.ts';
import { onSessionChange } from './api/session-channel.ts';
import { hasUnsavedInput } from './forms/unsaved-input.ts';
import { router } from './router.tsx';
import { preloadPages } from './shell/lazy-page.tsx';
import { colorSchemeManager, theme } from './theme/theme.ts';
import { toast } from './toasts/toasts.tsx';

// Redirects to the sign-in page, which returns to the current page after the sign-in. Leaving a form would lose its input. So if a form
// has unsaved input, only a message is shown, and the person can sign in again in another tab.
setSignedOutHandler((problem) => {
  if (hasUnsavedInput()) return toast.problem(problem.message);
  const { pathname, href } = router.state.location;
  if (pathname === '/sign-in' || pathname === '/link') return;
  void router.navigate({ to: '/sign-in', search: href === '/' ? {} : { to: href }, replace: true });
});

const runWhenIdle = (act: () => void) => ('requestIdleCallback' in window ? requestIdleCallback(act) : setTimeout(act, 1_000));
/** Whether the person asked the browser to save data. Firefox and Safari do not report this. */
const isDataSaverOn = (navigator as { connection?: { saveData?: boolean } }).connection?.saveData === true;
// Preloads all pages when the first one is shown and the browser is idle, unless the browser's data saver is on.
const unsubscribe = router.subscribe('onRendered', () => {
  unsubscribe();
  if (!isDataSaverOn) runWhenIdle(() => void preloadPages());
});

setDisplayedPersonReader(() => queryClient.getQueryData(sessionQuery.queryKey)?.person.id);
onSessionChange(() => void queryClient.invalidateQueries());

const root = document.getElementById('root');
if (root === null) throw new Error('index.html has no element with the ID root');
createRoot(root).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      colorSchemeManager={colorSchemeManager}
      defaultColorScheme="auto"
      // Mantine would write its variables and global classes as inline style sheets, which the content security policy blocks. The
      // variables are in theme/tokens.css.
      withCssVariables={false}
      withGlobalClasses={false}
    >
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);

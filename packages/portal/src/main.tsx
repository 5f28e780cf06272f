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

// A call says that nobody is signed in: to the sign-in, and back here afterwards. A form that is left keeps nothing of what was
// typed, so while one holds something it is said and no more: whoever signs in again in another tab goes on here.
setSignedOutHandler((problem) => {
  if (hasUnsavedInput()) return toast.problem(problem.message);
  const { pathname, href } = router.state.location;
  if (pathname === '/sign-in' || pathname === '/link') return;
  void router.navigate({ to: '/sign-in', search: href === '/' ? {} : { to: href }, replace: true });
});

/** After the first page, and when the browser has nothing else to do. */
const whenIdle = (act: () => void) => ('requestIdleCallback' in window ? requestIdleCallback(act) : setTimeout(act, 1_000));
const stopWaiting = router.subscribe('onRendered', () => {
  stopWaiting();
  whenIdle(() => void preloadPages());
});

setDisplayedPersonReader(() => queryClient.getQueryData(sessionQuery.queryKey)?.person.id);
onSessionChange(() => void queryClient.invalidateQueries());

const place = document.getElementById('root');
if (place === null) throw new Error('index.html has no root');
createRoot(place).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      colorSchemeManager={colorSchemeManager}
      defaultColorScheme="auto"
      // The style sheets say it all: the pages' policy refuses styles that a page writes itself.
      withCssVariables={false}
      withGlobalClasses={false}
    >
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);

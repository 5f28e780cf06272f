import { MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import './theme/mantine.css';
import './theme/fonts.css';
import './theme/tokens.css';
import './theme/base.css';
import { queryClient, whenSignedOut } from './api/query-client.ts';
import { router } from './router.tsx';
import { colorSchemeManager, theme } from './theme/theme.ts';

// A call says that nobody is signed in: to the sign-in, and back here afterwards. What was typed stays in no form that is left,
// so this happens on reading alone, or where an act was refused because the session had ended.
whenSignedOut(() => {
  const { pathname, href } = router.state.location;
  if (pathname === '/sign-in' || pathname === '/link') return;
  void router.navigate({ to: '/sign-in', search: href === '/' ? {} : { to: href }, replace: true });
});

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

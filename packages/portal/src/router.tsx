import { createRootRoute, createRoute, createRouter, Outlet } from '@tanstack/react-router';
import { HintLayer } from './shell/hint-layer.tsx';
import { lazyPage } from './shell/lazy-page.tsx';
import { LoadingScreen } from './shell/loading-screen.tsx';
import { LostConnection } from './shell/lost-connection.tsx';
import { PageError } from './shell/page-error.tsx';
import { PageSkeleton } from './shell/page-skeleton.tsx';
import { PersonFrame, WorkspaceFrame } from './shell/workspace-frame.tsx';
import { Toasts } from './toasts/toasts.tsx';

/** Returns only the search parameters that are strings. The filters of lists expect strings. */
const pickStringParameters = (search: Record<string, unknown>): Record<string, string> =>
  Object.fromEntries(Object.entries(search).filter((entry): entry is [string, string] => typeof entry[1] === 'string'));

const root = createRootRoute({
  component: () => (
    <>
      <LostConnection />
      <Outlet />
      <Toasts />
      <HintLayer />
    </>
  ),
  notFoundComponent: lazyPage(() => import('./pages/not-found-page.tsx'), 'NotFoundPage'),
  errorComponent: PageError,
});

const home = createRoute({
  getParentRoute: () => root,
  path: '/',
  component: lazyPage(() => import('./pages/home-page.tsx'), 'HomePage'),
});
const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: pickStringParameters,
  component: lazyPage(() => import('./pages/sign-in/sign-in-page.tsx'), 'SignInPage'),
});
const link = createRoute({
  getParentRoute: () => root,
  path: '/link',
  component: lazyPage(() => import('./pages/sign-in/link-page.tsx'), 'LinkPage'),
});
const personal = createRoute({ getParentRoute: () => root, id: 'personal', component: PersonFrame });
const account = createRoute({
  getParentRoute: () => personal,
  path: '/account',
  pendingComponent: PageSkeleton,
  component: lazyPage(() => import('./pages/account/account-page.tsx'), 'AccountPage'),
});

const workspace = createRoute({
  getParentRoute: () => root,
  path: '/w/$workspace',
  component: WorkspaceFrame,
  notFoundComponent: lazyPage(() => import('./pages/not-found-page.tsx'), 'NotFoundInWorkspace'),
});

/**
 * A page of a workspace. Its code loads on the first visit, or earlier if preloadPages loads it. The page of another workspace or record
 * is mounted anew, so that it shows no input, result or data of the previous page.
 */
const createPage = <const P extends string>(path: P, component: ReturnType<typeof lazyPage>) =>
  createRoute({
    getParentRoute: () => workspace,
    path,
    validateSearch: pickStringParameters,
    remountDeps: ({ params }) => params,
    component,
    pendingComponent: PageSkeleton,
  });

const pages = [
  createPage(
    '/',
    lazyPage(() => import('./pages/overview/overview-page.tsx'), 'OverviewPage'),
  ),
  createPage(
    'agents',
    lazyPage(() => import('./pages/agents/agents-page.tsx'), 'AgentsPage'),
  ),
  createPage(
    'agents/$agent',
    lazyPage(() => import('./pages/agents/agent-page.tsx'), 'AgentPage'),
  ),
  createPage(
    'runs',
    lazyPage(() => import('./pages/runs/runs-page.tsx'), 'RunsPage'),
  ),
  createPage(
    'runs/traces/$trace',
    lazyPage(() => import('./pages/runs/trace-page.tsx'), 'TracePage'),
  ),
  createPage(
    'runs/events/$submission/$ordinal',
    lazyPage(() => import('./pages/runs/event-page.tsx'), 'EventPage'),
  ),
  createPage(
    'evaluations',
    lazyPage(() => import('./pages/evaluations/evaluations-page.tsx'), 'EvaluationsPage'),
  ),
  createPage(
    'evaluations/$evaluation',
    lazyPage(() => import('./pages/evaluations/evaluation-page.tsx'), 'EvaluationPage'),
  ),
  createPage(
    'decisions',
    lazyPage(() => import('./pages/decisions/decisions-page.tsx'), 'DecisionsPage'),
  ),
  createPage(
    'decisions/$decision',
    lazyPage(() => import('./pages/decisions/decision-page.tsx'), 'DecisionPage'),
  ),
  createPage(
    'ledger',
    lazyPage(() => import('./pages/ledger/ledger-page.tsx'), 'LedgerPage'),
  ),
  createPage(
    'ledger/$seq',
    lazyPage(() => import('./pages/ledger/entry-page.tsx'), 'EntryPage'),
  ),
  createPage(
    'approvals',
    lazyPage(() => import('./pages/approvals/approvals-page.tsx'), 'ApprovalsPage'),
  ),
  createPage(
    'approvals/$evaluation',
    lazyPage(() => import('./pages/approvals/approval-page.tsx'), 'ApprovalPage'),
  ),
  createPage(
    'incidents',
    lazyPage(() => import('./pages/incidents/incidents-page.tsx'), 'IncidentsPage'),
  ),
  createPage(
    'incidents/$incident',
    lazyPage(() => import('./pages/incidents/incident-page.tsx'), 'IncidentPage'),
  ),
  createPage(
    'keys',
    lazyPage(() => import('./pages/keys/keys-page.tsx'), 'KeysPage'),
  ),
  createPage(
    'members',
    lazyPage(() => import('./pages/members/members-page.tsx'), 'MembersPage'),
  ),
  createPage(
    'signing',
    lazyPage(() => import('./pages/signing/signing-page.tsx'), 'SigningPage'),
  ),
  createPage(
    'settings',
    lazyPage(() => import('./pages/settings/settings-page.tsx'), 'SettingsPage'),
  ),
] as const;

/** The previous page stays for this long while the next one loads; then a skeleton or the loading screen is shown. */
const PENDING_AFTER_MS = 150;

/** All routes of the portal. Search parameters stay strings, even an ID that has only digits. */
export const router = createRouter({
  routeTree: root.addChildren([home, signIn, link, personal.addChildren([account]), workspace.addChildren([...pages])]),
  parseSearch: (search) => Object.fromEntries(new URLSearchParams(search)),
  stringifySearch: (search) => {
    const text = new URLSearchParams(search as Record<string, string>).toString();
    return text === '' ? '' : `?${text}`;
  },
  defaultErrorComponent: PageError,
  defaultPendingComponent: LoadingScreen,
  defaultPendingMs: PENDING_AFTER_MS,
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}

import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';
import { toast } from '../toasts/toasts.tsx';
import { type Problem, toProblem } from './problem.ts';

/**
 * Handles a call that fails because no person is signed in. main.tsx sets this function, because an import of the router here would be
 * circular.
 */
let onSignedOut: (problem: Problem) => void = () => undefined;
export const setSignedOutHandler = (act: (problem: Problem) => void): void => {
  onSignedOut = act;
};

/** The cache of server responses. A read that fails with a retryable problem is retried up to twice. Writes are never retried. */
export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError: (error) => void handleIfSignedOut(error) }),
  mutationCache: new MutationCache({
    onError: (error, _variables, _context, mutation) => {
      // A conflict, or a record that no longer exists, means that the page shows an outdated state.
      if (['conflict', 'missing'].includes(toProblem(error).kind)) void queryClient.invalidateQueries();
      // A form shows its own errors. Leaving the page would lose the input.
      if (mutation.meta?.errorShownInForm === true) return;
      if (!handleIfSignedOut(error)) toast.problem(toProblem(error).message);
    },
  }),
  defaultOptions: {
    queries: {
      // A server on this machine is reachable without a network, so the browser's online state is ignored.
      networkMode: 'always',
      staleTime: 5_000,
      retry: (failures, error) => failures < 2 && toProblem(error).isRetryable,
      retryDelay: (failures) => 400 * 2 ** failures,
    },
    mutations: { networkMode: 'always', retry: false },
  },
});

/** Calls the handler and returns true if the error means that no person is signed in. Otherwise returns false. */
function handleIfSignedOut(error: unknown): boolean {
  const problem = toProblem(error);
  if (problem.kind !== 'signed-out') return false;
  onSignedOut(problem);
  return true;
}

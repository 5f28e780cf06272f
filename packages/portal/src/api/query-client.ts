import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';
import { toast } from '../toasts/toasts.tsx';
import { type Problem, toProblem } from './problem.ts';

/** What happens when a call says that nobody is signed in; set by main.tsx, which knows the router. */
let onSignedOut: (problem: Problem) => void = () => undefined;
export const setSignedOutHandler = (act: (problem: Problem) => void): void => {
  onSignedOut = act;
};

/** The one cache of what the server said. Reads are tried again when the connection is lost, acts never by themselves. */
export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError: (error) => leaveIfSignedOut(error) }),
  mutationCache: new MutationCache({
    onError: (error, _variables, _context, mutation) => {
      // What was refused because somebody else was faster is not as the page shows it, nor may what it offers be.
      if (toProblem(error).kind === 'conflict') void queryClient.invalidateQueries();
      // A form shows its own problems beside its fields, a lost session too: leaving it would lose what was typed.
      if (mutation.meta?.errorShownInForm === true) return;
      leaveIfSignedOut(error);
      toast.problem(toProblem(error).message);
    },
  }),
  defaultOptions: {
    queries: {
      // A server on this machine answers without any network: asking is the only way to know.
      networkMode: 'always',
      staleTime: 5_000,
      retry: (failures, error) => failures < 2 && toProblem(error).passing,
      retryDelay: (failures) => 400 * 2 ** failures,
    },
    mutations: { networkMode: 'always', retry: false },
  },
});

function leaveIfSignedOut(error: unknown): void {
  const problem = toProblem(error);
  if (problem.kind === 'signed-out') onSignedOut(problem);
}

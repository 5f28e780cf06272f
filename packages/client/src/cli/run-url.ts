import type { Session } from './session.ts';

/** The longest address that the service accepts. */
const LENGTH_MAX = 2048;

/**
 * The address of this CI run, from the variables of GitHub Actions or GitLab CI. Undefined elsewhere, or if it is not a web address, is too
 * long, or contains a user or password.
 * https://docs.github.com/en/actions/reference/workflows-and-actions/variables, https://docs.gitlab.com/ci/variables/predefined_variables/
 */
export function ciRunUrl(session: Session): string | undefined {
  const [server, repository, run] = ['GITHUB_SERVER_URL', 'GITHUB_REPOSITORY', 'GITHUB_RUN_ID'].map((name) =>
    session.variable(name),
  );
  const isComplete = server !== undefined && repository !== undefined && run !== undefined;
  const url = isComplete
    ? `${server.replace(/\/+$/, '')}/${repository}/actions/runs/${run}`
    : (session.variable('CI_JOB_URL') ?? session.variable('CI_PIPELINE_URL'));
  return url !== undefined && isWebAddress(url) ? url : undefined;
}

function isWebAddress(text: string): boolean {
  if (text.length > LENGTH_MAX || !/^https?:\/\/[^\s@/?#\\]+(?:[/?#][^\s\\]*)?$/i.test(text) || !URL.canParse(text)) return false;
  return ['http:', 'https:'].includes(new URL(text).protocol);
}

import { randomUUID } from 'node:crypto';
import { appendFile } from './files.ts';
import type { Finding, GateMessage, ReportContext } from './gate-finding.ts';
import { oneLine, shortLine } from './plain-text.ts';
import type { Session } from './session.ts';

/**
 * Where this runs as a step of GitHub Actions, tells its runner: output variables, the summary of the job, and an error line that shows
 * at the run. https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
 */
export function tellGitHub(
  session: Session,
  finding: Finding,
  told: GateMessage,
  files: Pick<ReportContext, 'output' | 'attestation'>,
): void {
  if (!runsOnGitHub(session)) return;
  const outputs = session.variable('GITHUB_OUTPUT');
  if (outputs !== undefined) appendFile(outputs, session.redaction.of(outputLines(finding, told, files)));
  const summary = session.variable('GITHUB_STEP_SUMMARY');
  if (summary !== undefined) appendFile(summary, session.redaction.of(summaryOf(finding, told)));
  if (told.outcome !== 'allowed') showError(session, `Promotion ${told.outcome}`, told.message);
}

/** Whether this is a step of GitHub Actions. */
const runsOnGitHub = (session: Session): boolean => session.variable('GITHUB_ACTIONS') === 'true';

/** An error that shows at the run, where this is a step of GitHub Actions. */
export function showError(session: Session, title: string, message: string): void {
  if (runsOnGitHub(session)) session.warn(`::error title=${property(title)}::${data(message)}`);
}

/** `name<<delimiter`, the value, the delimiter: a delimiter that nobody can know beforehand keeps a value from ending itself. */
function outputLines(
  { decision, text, attestation, verifiedBy }: Finding,
  told: GateMessage,
  files: Pick<ReportContext, 'output' | 'attestation'>,
): string {
  const values: Record<string, string> = {
    outcome: told.outcome,
    allowed: String(told.outcome === 'allowed'),
    'exit-code': String(told.exitCode),
    reason: told.reason,
    message: told.message,
    'decision-id': decision?.decision_id ?? '',
    'agent-id': decision?.agent_id ?? '',
    'verified-by': verifiedBy ?? '',
    'decision-file': text === undefined ? '' : (files.output ?? ''),
    'attestation-file': attestation === undefined ? '' : (files.attestation ?? ''),
  };
  const delimiter = `countersign-${randomUUID()}`;
  return Object.entries(values)
    .map(([name, value]) => `${name}<<${delimiter}\n${oneLine(value)}\n${delimiter}\n`)
    .join('');
}

function summaryOf({ decision, verifiedBy }: Finding, told: GateMessage): string {
  const head = `### Promotion of ${cell(told.agent)}: ${told.outcome}\n\n${cell(told.message)}\n\n`;
  if (decision === undefined) return `${head}Nothing was decided. Unknown never passes.\n\n`;
  const rows = decision.checks.map(
    ({ condition, passed, message }) => `| ${cell(condition)} | ${passed ? 'holds' : '**fails**'} | ${cell(message)} |`,
  );
  const approve = told.approveAt === undefined ? '' : `Approve it at ${link(told.approveAt)} (Approvals).\n\n`;
  const signature = verifiedBy === undefined ? 'signature not checked' : `signature verified by ${cell(verifiedBy)}`;
  return `${head}${approve}| condition | | |\n| --- | --- | --- |\n${rows.join('\n')}\n\nDecision \`${decision.decision_id}\`, ${decision.timestamp}, ${signature}.\n\n`;
}

/** Text from elsewhere as it may stand in Markdown: no markup, no links, no line ends. */
const cell = (text: string): string =>
  shortLine(text, 600).replace(/[\\`*_{}[\]()<>#+!|~@:/-]/g, (char) => `&#${char.charCodeAt(0)};`);

/** An address of the web as a link; any other text as it is. */
const link = (address: string): string => (/^https?:\/\/[\w./:[\]~%-]{1,500}$/.test(address) ? `<${address}>` : cell(address));

/** The runner's own escapes for the data of a command, and for its properties. */
const data = (text: string): string => oneLine(text).replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
const property = (text: string): string => data(text).replaceAll(':', '%3A').replaceAll(',', '%2C');

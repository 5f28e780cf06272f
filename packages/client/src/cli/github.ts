import { randomUUID } from 'node:crypto';
import { appendFile } from './files.ts';
import type { Finding, GateSummary, ReportContext } from './gate-finding.ts';
import { oneLine, shortLine } from './plain-text.ts';
import type { Session } from './session.ts';

/**
 * In a step of GitHub Actions, writes output variables, the summary of the job and, unless the promotion is allowed, an error annotation.
 * https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
 */
export function reportToGitHub(
  session: Session,
  finding: Finding,
  summary: GateSummary,
  files: Pick<ReportContext, 'output' | 'attestation'>,
): void {
  if (!runsOnGitHub(session)) return;
  const outputs = session.variable('GITHUB_OUTPUT');
  if (outputs !== undefined) appendFile(outputs, session.redaction.apply(outputLines(finding, summary, files)));
  const summaryPath = session.variable('GITHUB_STEP_SUMMARY');
  if (summaryPath !== undefined) appendFile(summaryPath, session.redaction.apply(summaryOf(finding, summary)));
  if (summary.outcome !== 'allowed') annotateError(session, `Promotion ${summary.outcome}`, summary.message);
}

/** Whether this process is a step of GitHub Actions. */
const runsOnGitHub = (session: Session): boolean => session.variable('GITHUB_ACTIONS') === 'true';

/** Writes an error annotation in a step of GitHub Actions, and nothing elsewhere. */
export function annotateError(session: Session, title: string, message: string): void {
  if (runsOnGitHub(session)) session.writeToStderr(`::error title=${escapeProperty(title)}::${escapeData(message)}`);
}

/** The output variables, three lines each: `name<<delimiter`, value, delimiter. The delimiter is random, so that no value contains it. */
function outputLines(
  { decision, text, attestation, verifiedBy }: Finding,
  summary: GateSummary,
  files: Pick<ReportContext, 'output' | 'attestation'>,
): string {
  const values: Record<string, string> = {
    outcome: summary.outcome,
    allowed: String(summary.outcome === 'allowed'),
    'exit-code': String(summary.exitCode),
    reason: summary.reason,
    message: summary.message,
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

function summaryOf({ decision, verifiedBy }: Finding, summary: GateSummary): string {
  const head = `### Promotion of ${escapeCell(summary.agent)}: ${summary.outcome}\n\n${escapeCell(summary.message)}\n\n`;
  if (decision === undefined) return `${head}There is no decision, so the promotion is blocked.\n\n`;
  const rows = decision.checks.map(
    ({ condition, passed, message }) =>
      `| ${escapeCell(condition)} | ${passed ? 'passed' : '**failed**'} | ${escapeCell(message)} |`,
  );
  const approve = summary.approveAt === undefined ? '' : `Approve the evaluation at ${link(summary.approveAt)} (Approvals).\n\n`;
  const signature = verifiedBy === undefined ? 'signature not checked' : `signature verified by ${escapeCell(verifiedBy)}`;
  return (
    `${head}${approve}| condition | | |\n| --- | --- | --- |\n${rows.join('\n')}\n\n` +
    `Decision \`${decision.decision_id}\`, ${decision.timestamp}, ${signature}.\n\n`
  );
}

/**
 * Escapes text for a Markdown table: no markup, links to pages or line breaks remain. The dot is escaped too, because GitHub turns words
 * that start with `www.` into links. Cuts the text to 600 characters.
 */
const escapeCell = (text: string): string =>
  shortLine(text, 600).replace(/[\\`*_{}[\]()<>#+!|~@:/.-]/g, (char) => `&#${char.charCodeAt(0)};`);

/** A web address as a link; any other text escaped. */
const link = (address: string): string =>
  /^https?:\/\/[\w./:[\]~%-]{1,500}$/.test(address) ? `<${address}>` : escapeCell(address);

/** Escapes text for the data and for the properties of a workflow command, as the runner expects. */
const escapeData = (text: string): string => oneLine(text).replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
const escapeProperty = (text: string): string => escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C');

import { approvalAddress } from './approval-address.ts';
import { evaluationOf } from './check-decision.ts';
import { EXIT_CODES } from './exit-codes.ts';
import { writeFile } from './files.ts';
import type { Finding, GateSummary, ReportContext } from './gate-finding.ts';
import { gateJUnit } from './gate-junit.ts';
import { reportToGitHub } from './github.ts';
import { oneLine, shortLine } from './plain-text.ts';
import type { Session } from './session.ts';

const OUTCOMES = { ok: 'allowed', no: 'blocked', pending: 'pending', undecided: 'undecided', wrong_use: 'undecided' } as const;

/** Reports the finding to the terminal first, then to files and GitHub, so that an error in writing a file does not hide the finding. */
export function reportFinding(session: Session, finding: Finding, context: ReportContext): void {
  const summary = summarize(finding, context);
  const { decision, verifiedBy, checkpoint } = finding;
  session.writeResult(
    {
      outcome: summary.outcome,
      exit_code: summary.exitCode,
      agent: summary.agent,
      reason: summary.reason,
      message: summary.message,
      verified_by: verifiedBy ?? null,
      approve_at: summary.approveAt ?? null,
      checkpoint: checkpoint ?? null,
      decision: decision ?? null,
    },
    linesOf(finding, summary),
  );
  writeFiles(session, finding, summary, context);
  reportToGitHub(session, finding, summary, context);
}

/** The decision and the attestation are not redacted, because redaction could invalidate their signatures. */
function writeFiles(
  session: Session,
  finding: Finding,
  summary: GateSummary,
  { output, attestation, junit }: ReportContext,
): void {
  if (output !== undefined && finding.text !== undefined) writeFile(output, finding.text);
  if (attestation !== undefined && finding.attestation !== undefined)
    writeFile(attestation, `${JSON.stringify(finding.attestation)}\n`);
  if (junit !== undefined) writeFile(junit, session.redaction.apply(gateJUnit(finding, summary)));
}

function summarize(finding: Finding, { request, portalUrl }: ReportContext): GateSummary {
  const { ending, decision, fault } = finding;
  const agent =
    request.agentName ?? (decision === undefined ? undefined : evaluationOf(decision)?.agent_name) ?? request.agentId!;
  return {
    outcome: OUTCOMES[ending],
    exitCode: EXIT_CODES[ending].status,
    agent,
    reason: decision?.reason ?? 'undecided',
    message: decision === undefined ? `no decision: ${fault}` : oneLine(decision.message),
    approveAt: ending === 'pending' ? approvalAddress(finding, portalUrl) : undefined,
  };
}

function linesOf({ decision, verifiedBy, checkpoint }: Finding, summary: GateSummary): string[] {
  const lines = [`${summary.outcome.toUpperCase()}: ${summary.message}`];
  if (decision === undefined) return [...lines, 'Treat this as blocked. Run `countersign doctor` to find the cause.'];
  const width = Math.max(...decision.checks.map(({ condition }) => condition.length));
  for (const { passed, condition, message } of decision.checks)
    lines.push(`  ${passed ? 'ok  ' : 'FAIL'}  ${condition.padEnd(width)}  ${shortLine(message)}`);
  const evaluation = evaluationOf(decision);
  if (evaluation !== undefined)
    lines.push(`  evaluation  ${evaluation.id}  ${shortLine(evaluation.name, 100)}  ${evaluation.recorded_at}`);
  lines.push(`  decision    ${decision.decision_id}  ${decision.timestamp}`);
  lines.push(
    `  signature   ${verifiedBy === undefined ? 'not checked: no trust file or key' : `verified by ${shortLine(verifiedBy, 120)}`}`,
  );
  if (checkpoint !== undefined) lines.push(`  Countersign-Checkpoint: ${shortLine(checkpoint, 1000)}`);
  if (summary.approveAt !== undefined)
    lines.push(
      `  Approve the evaluation at ${shortLine(summary.approveAt, 600)} (Approvals), then run this command again, or use --wait 30m.`,
    );
  return lines;
}

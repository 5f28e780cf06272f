import { approvalAddress } from './approval-address.ts';
import { evaluationOf } from './believe-decision.ts';
import { EXIT_CODES } from './exit-codes.ts';
import { writeFile } from './files.ts';
import type { Finding, GateMessage, ReportContext } from './gate-finding.ts';
import { gateJUnit } from './gate-junit.ts';
import { tellGitHub } from './github.ts';
import { oneLine, shortLine } from './plain-text.ts';
import type { Session } from './session.ts';

const OUTCOMES = { ok: 'allowed', no: 'blocked', pending: 'pending', undecided: 'undecided', wrong_use: 'undecided' } as const;

/** Tells the finding to whoever listens: the terminal or a machine first, so that no file that fails hides it; files; GitHub. */
export function gateReport(session: Session, finding: Finding, context: ReportContext): void {
  const told = tellingOf(finding, context);
  const { decision, verifiedBy, checkpoint } = finding;
  session.answer(
    {
      outcome: told.outcome,
      exit_code: told.exitCode,
      agent: told.agent,
      reason: told.reason,
      message: told.message,
      verified_by: verifiedBy ?? null,
      approve_at: told.approveAt ?? null,
      checkpoint: checkpoint ?? null,
      decision: decision ?? null,
    },
    linesOf(finding, told),
  );
  writeFiles(finding, told, context);
  tellGitHub(session, finding, told, context);
}

function writeFiles(finding: Finding, told: GateMessage, { output, attestation, junit }: ReportContext): void {
  if (output !== undefined && finding.text !== undefined) writeFile(output, finding.text);
  if (attestation !== undefined && finding.attestation !== undefined)
    writeFile(attestation, `${JSON.stringify(finding.attestation)}\n`);
  if (junit !== undefined) writeFile(junit, gateJUnit(finding, told));
}

function tellingOf(finding: Finding, { asked, portalUrl }: ReportContext): GateMessage {
  const { ending, decision, fault } = finding;
  const agent = asked.agentName ?? (decision === undefined ? undefined : evaluationOf(decision)?.agent_name) ?? asked.agentId!;
  return {
    outcome: OUTCOMES[ending],
    exitCode: EXIT_CODES[ending].status,
    agent,
    reason: decision?.reason ?? 'undecided',
    message: decision === undefined ? `could not decide: ${fault}` : oneLine(decision.message),
    approveAt: ending === 'pending' ? approvalAddress(finding, portalUrl) : undefined,
  };
}

function linesOf({ decision, verifiedBy, checkpoint }: Finding, told: GateMessage): string[] {
  const lines = [`${told.outcome.toUpperCase()}: ${told.message}`];
  if (decision === undefined)
    return [...lines, 'Unknown never passes: treat this as blocked. `countersign doctor` looks for the cause.'];
  const width = Math.max(...decision.checks.map(({ condition }) => condition.length));
  for (const { passed, condition, message } of decision.checks)
    lines.push(`  ${passed ? 'ok  ' : 'FAIL'}  ${condition.padEnd(width)}  ${shortLine(message)}`);
  const evaluation = evaluationOf(decision);
  if (evaluation !== undefined)
    lines.push(`  evaluation  ${evaluation.id}  ${shortLine(evaluation.name, 100)}  ${evaluation.recorded_at}`);
  lines.push(`  decision    ${decision.decision_id}  ${decision.timestamp}`);
  lines.push(
    `  signature   ${verifiedBy === undefined ? 'not checked: no --verify-key was given' : `verified by ${shortLine(verifiedBy, 120)}`}`,
  );
  if (checkpoint !== undefined) lines.push(`  Countersign-Checkpoint: ${shortLine(checkpoint, 1000)}`);
  if (told.approveAt !== undefined)
    lines.push(`  Approve it at ${shortLine(told.approveAt, 600)} (Approvals), then run this again, or give --wait 30m.`);
  return lines;
}

import type { Command } from 'commander';
import { listApprovalsWithTexts } from '../storage/portal/approvals.ts';
import { decideEvaluation } from '../workspace/decide-evaluation.ts';
import { withdrawApproval } from '../workspace/withdraw-approval.ts';
import { readAllPages } from './all-pages.ts';
import { JSON_OPTION, parseUuid, WORKSPACE_OPTION } from './arguments.ts';
import { examples } from './help.ts';
import type { Session } from './session.ts';
import { formatTime, shortLine } from './table.ts';

/** `approvals list | approve | reject | withdraw`. */
export function addApprovals(program: Command, session: Session): void {
  const group = program.command('approvals').description('Approve or reject evaluations of high-risk agents.');
  addList(group, session);
  addDecision(
    group,
    session,
    'approve',
    'approved',
    'Approve one evaluation of a high-risk agent. Each later evaluation needs its own approval.',
  );
  addDecision(
    group,
    session,
    'reject',
    'rejected',
    'Reject one evaluation of a high-risk agent permanently, even if it was approved.',
  );
  addWithdrawal(group, session);
}

function addList(group: Command, session: Session): void {
  group
    .command('list')
    .description('List the approvals of a workspace: pending ones first, then decided ones, both in the order of the requests.')
    .requiredOption(...WORKSPACE_OPTION)
    .option(...JSON_OPTION)
    .addHelpText('after', examples('approvals list --workspace acme'))
    .action(async ({ workspace }: { workspace: string }) => {
      const approvals = await session.withWorkspace(workspace, ({ pool }, tenant) =>
        readAllPages(pool, tenant.id, listApprovalsWithTexts, ({ place_seq: seq, evaluation }) => ({
          seq,
          evaluationId: evaluation.id,
        })),
      );
      const isPending = ({ status }: (typeof approvals)[number]) => status === 'pending';
      const pendingFirst = [...approvals.filter(isPending), ...approvals.filter((approval) => !isPending(approval))];
      const rows = pendingFirst.map(({ evaluation, agent, ...approval }) => ({
        evaluation_id: evaluation.id,
        evaluation: evaluation.name,
        evaluation_status: evaluation.status,
        pass_rate: evaluation.pass_rate,
        agent_id: agent.id,
        agent: agent.name,
        status: approval.status,
        requested_at: approval.requested_at,
        requested_by: approval.requested_by,
        decided_at: approval.decided_at,
        decided_by: approval.decided_by,
        rationale: approval.rationale,
      }));
      await session.list(rows, 'no approvals yet; a promotion check requests one if a high-risk agent meets the criteria', [
        ['STATUS', ({ status }) => status],
        ['AGENT', ({ agent }) => agent],
        ['EVALUATION ID', ({ evaluation_id }) => evaluation_id],
        ['EVALUATION', ({ evaluation }) => evaluation],
        ['RESULT', ({ evaluation_status: status, pass_rate: rate }) => (rate === null ? status : `${status}, ${rate} %`)],
        ['REQUESTED', ({ requested_at }) => formatTime(requested_at)],
        ['DECIDED', ({ decided_at }) => formatTime(decided_at)],
        ['BY', ({ decided_by }) => decided_by],
        ['RATIONALE', ({ rationale }) => (rationale === null ? null : shortLine(rationale, 60))],
      ]);
    });
}

function addDecision(group: Command, session: Session, name: string, status: 'approved' | 'rejected', description: string): void {
  group
    .command(name)
    .description(description)
    .requiredOption(...WORKSPACE_OPTION)
    .requiredOption('--evaluation <id>', 'ID of the evaluation', parseUuid)
    .requiredOption('--rationale <text>', 'the reason; recorded in the ledger')
    .option(...JSON_OPTION)
    .addHelpText(
      'after',
      examples(`approvals ${name} --workspace acme --evaluation 7e5d3c1b-2a4f-4968-b7d0-1c3e5f7a9b2d --rationale "..."`),
    )
    .action(async (options: { workspace: string; evaluation: string; rationale: string }) => {
      const { workspace, evaluation: evaluationId, rationale } = options;
      await session.withWorkspace(workspace, ({ pool }, tenant) =>
        decideEvaluation(pool, tenant.id, { evaluationId, status, rationale }, 'operator'),
      );
      await session.writeResult({ evaluation_id: evaluationId, status }, '');
      session.say(`evaluation ${evaluationId} is ${status}`);
    });
}

function addWithdrawal(group: Command, session: Session): void {
  group
    .command('withdraw')
    .description('Withdraw an approval that no allowed decision has used. The evaluation is pending again.')
    .requiredOption(...WORKSPACE_OPTION)
    .requiredOption('--evaluation <id>', 'ID of the evaluation', parseUuid)
    .requiredOption('--rationale <text>', 'the reason; recorded in the ledger')
    .option(...JSON_OPTION)
    .addHelpText(
      'after',
      examples('approvals withdraw --workspace acme --evaluation 7e5d3c1b-2a4f-4968-b7d0-1c3e5f7a9b2d --rationale "..."'),
    )
    .action(async (options: { workspace: string; evaluation: string; rationale: string }) => {
      const { workspace, evaluation: evaluationId, rationale } = options;
      await session.withWorkspace(workspace, ({ pool }, tenant) =>
        withdrawApproval(pool, tenant.id, { evaluationId, rationale }, 'operator'),
      );
      await session.writeResult({ evaluation_id: evaluationId, status: 'pending' }, '');
      session.say(`the approval of evaluation ${evaluationId} is withdrawn; the evaluation is pending again`);
    });
}

import { RISK_LEVELS, type RiskLevel } from '@countersign/core/portal/agent-facts';
import { Argument, type Command } from 'commander';
import type { Transaction } from '../database/transaction.ts';
import { listAgentsPage } from '../storage/portal/agents.ts';
import { type IncidentPlace, listOpenRecertifications } from '../storage/portal/incidents.ts';
import { setRiskLevel } from '../workspace/agent-risk.ts';
import { readAllPages } from './all-pages.ts';
import { JSON_OPTION, WORKSPACE_OPTION } from './arguments.ts';
import { examples } from './help.ts';
import type { Session } from './session.ts';
import { formatTime } from './table.ts';

const readAgentsPage = (tx: Transaction, after: string | null, limit: number) =>
  listAgentsPage(tx, { search: null, riskLevel: null, archived: null }, after, limit);
const readOpenRecertificationsPage = (tx: Transaction, after: IncidentPlace | null, limit: number) =>
  listOpenRecertifications(tx, { agentId: null, severity: null }, after, limit);

/** `agents list | risk`. */
export function addAgents(program: Command, session: Session): void {
  const group = program.command('agents').description('List agents and set their risk level.');

  group
    .command('list')
    .description('List the agents of a workspace, by name.')
    .requiredOption(...WORKSPACE_OPTION)
    .option(...JSON_OPTION)
    .addHelpText('after', examples('agents list --workspace acme'))
    .action(async ({ workspace }: { workspace: string }) => {
      const [agents, openRecertifications] = await session.withWorkspace(workspace, async ({ pool }, tenant) => [
        await readAllPages(pool, tenant.id, readAgentsPage, ({ name }) => name),
        await readAllPages(pool, tenant.id, readOpenRecertificationsPage, ({ place_seq: seq, id }) => ({ seq, id })),
      ]);
      const rows = agents.map(({ id, name, risk_level, created_at }) => ({
        id,
        name,
        risk_level,
        open_recertifications: openRecertifications.filter(({ agent }) => agent.id === id).length,
        created_at,
      }));
      await session.list(rows, 'no agents yet; a trace, telemetry event or evaluation registers the agent that it names', [
        ['NAME', ({ name }) => name],
        ['RISK', ({ risk_level }) => risk_level],
        ['OPEN RE-CERTIFICATIONS', ({ open_recertifications }) => String(open_recertifications)],
        ['ID', ({ id }) => id],
        ['CREATED', ({ created_at }) => formatTime(created_at)],
      ]);
    });

  group
    .command('risk')
    .description('Set the risk level of an agent. A high-risk agent needs an approval of its evaluation.')
    .requiredOption(...WORKSPACE_OPTION)
    .requiredOption('--agent <name>', 'name of the agent')
    .addArgument(new Argument('<level>', 'the level').choices(RISK_LEVELS))
    .option(...JSON_OPTION)
    .addHelpText('after', examples('agents risk --workspace acme --agent support-bot high'))
    .action(async (level: RiskLevel, { workspace, agent }: { workspace: string; agent: string }) => {
      const isChanged = await session.withWorkspace(workspace, ({ pool }, tenant) =>
        setRiskLevel(pool, tenant.id, { agent, level }, 'operator'),
      );
      await session.writeResult({ agent, risk_level: level, changed: isChanged }, '');
      session.say(`agent ${JSON.stringify(agent)} is ${level}-risk ${isChanged ? 'now' : 'already; nothing was written'}`);
    });
}

import { SEVERITIES, type Severity } from '@countersign/core/portal/incident-routes';
import { type Command, Option } from 'commander';
import { listIncidentsWithTexts } from '../storage/portal/incidents.ts';
import { closeRecertifications } from '../workspace/close-recertifications.ts';
import { openIncident } from '../workspace/open-incident.ts';
import { recordViolation } from '../workspace/record-violation.ts';
import { readAllPages } from './all-pages.ts';
import { JSON_OPTION, WORKSPACE_OPTION } from './arguments.ts';
import { examples } from './help.ts';
import type { Session } from './session.ts';
import { formatTime, shortLine } from './table.ts';

/** `incidents open | violation | list` and `recertifications close`. */
export function addIncidents(program: Command, session: Session): void {
  const incidents = program
    .command('incidents')
    .description('Open and list incidents against agents, and record policy violations.');
  addOpen(incidents, session);
  addViolation(incidents, session);
  addList(incidents, session);
  const recertifications = program
    .command('recertifications')
    .description('Close the re-certifications that incidents require; `incidents list` shows them.');
  addClose(recertifications, session);
}

function addOpen(group: Command, session: Session): void {
  group
    .command('open')
    .description('Open an incident against an agent. Prints the ID of the incident.')
    .requiredOption(...WORKSPACE_OPTION)
    .requiredOption('--agent <name>', 'name of the agent')
    .addOption(new Option('--severity <severity>', 'the severity').choices(SEVERITIES).makeOptionMandatory())
    .requiredOption('--description <text>', 'what happened; recorded in the ledger')
    .option('--recertify', 'require re-certification: no promotion until it is closed')
    .option(...JSON_OPTION)
    .addHelpText(
      'after',
      examples('incidents open --workspace acme --agent support-bot --severity high --description "..." --recertify'),
    )
    .action(
      async (options: { workspace: string; agent: string; severity: Severity; description: string; recertify?: boolean }) => {
        const { workspace, agent, severity, description, recertify = false } = options;
        const id = await session.withWorkspace(workspace, ({ pool }, tenant) =>
          openIncident(pool, tenant.id, { agent, severity, description, recertify }, 'operator'),
        );
        await session.writeResult({ incident_id: id, agent, severity, recertification_required: recertify }, id);
        session.say(`incident opened against ${JSON.stringify(agent)}${recertify ? '; the agent must be re-certified' : ''}`);
      },
    );
}

function addViolation(group: Command, session: Session): void {
  group
    .command('violation')
    .description(
      'Record that an agent violated a policy, as an entry policy.violation in the ledger. Prints the ID of the violation.',
    )
    .requiredOption(...WORKSPACE_OPTION)
    .requiredOption('--agent <name>', 'name of the agent')
    .requiredOption('--policy <name>', 'name of the policy')
    .addOption(new Option('--severity <severity>', 'the severity').choices(SEVERITIES).makeOptionMandatory())
    .requiredOption('--description <text>', 'what happened; recorded in the ledger')
    .option('--trace-id <id>', 'trace_id of the run in which the violation happened')
    .option(...JSON_OPTION)
    .addHelpText(
      'after',
      examples('incidents violation --workspace acme --agent support-bot --policy refunds --severity low --description "..."'),
    )
    .action(async (options: ViolationOptions) => {
      const { workspace, agent, policy, severity, description, traceId = null } = options;
      const id = await session.withWorkspace(workspace, ({ pool }, tenant) =>
        recordViolation(pool, tenant.id, { agent, policy, severity, description, traceId }, 'operator'),
      );
      await session.writeResult({ violation_id: id, agent, policy, severity }, id);
      session.say(`policy violation of ${JSON.stringify(agent)} recorded`);
    });
}

interface ViolationOptions {
  workspace: string;
  agent: string;
  policy: string;
  severity: Severity;
  description: string;
  traceId?: string;
}

function addList(group: Command, session: Session): void {
  group
    .command('list')
    .description('List the incidents of a workspace, newest first.')
    .requiredOption(...WORKSPACE_OPTION)
    .option(...JSON_OPTION)
    .addHelpText('after', examples('incidents list --workspace acme'))
    .action(async ({ workspace }: { workspace: string }) => {
      const incidents = await session.withWorkspace(workspace, ({ pool }, tenant) =>
        readAllPages(pool, tenant.id, listIncidentsWithTexts, ({ place_seq: seq, id }) => ({ seq, id })),
      );
      const rows = incidents.map((incident) => ({
        incident_id: incident.id,
        agent_id: incident.agent.id,
        agent: incident.agent.name,
        severity: incident.severity,
        description: incident.description,
        opened_at: incident.opened_at,
        opened_by: incident.opened_by,
        recertification: incident.recertification,
        closed_at: incident.closed_at,
        closed_by: incident.closed_by,
        closing_rationale: incident.closing_rationale,
        closing_evaluation_id: incident.closing_evaluation_id,
      }));
      await session.list(rows, 'no incidents', [
        ['OPENED', ({ opened_at }) => formatTime(opened_at)],
        ['SEVERITY', ({ severity }) => severity],
        ['AGENT', ({ agent }) => agent],
        ['RE-CERTIFICATION', ({ recertification }) => recertification],
        ['INCIDENT ID', ({ incident_id }) => incident_id],
        ['DESCRIPTION', ({ description }) => shortLine(description, 60)],
      ]);
    });
}

function addClose(group: Command, session: Session): void {
  group
    .command('close')
    .description(
      'Close all open re-certifications of an agent. Its latest evaluation must be passing, have a pass rate, and be newer than the incidents.',
    )
    .requiredOption(...WORKSPACE_OPTION)
    .requiredOption('--agent <name>', 'name of the agent')
    .requiredOption('--rationale <text>', 'the reason; recorded in the ledger')
    .option(...JSON_OPTION)
    .addHelpText('after', examples('recertifications close --workspace acme --agent support-bot --rationale "..."'))
    .action(async ({ workspace, agent, rationale }: { workspace: string; agent: string; rationale: string }) => {
      const { incidentIds, evaluationId } = await session.withWorkspace(workspace, ({ pool }, tenant) =>
        closeRecertifications(pool, tenant.id, { agent, rationale }, 'operator'),
      );
      await session.writeResult({ agent, incident_ids: incidentIds, evaluation_id: evaluationId }, '');
      session.say(
        `re-certification of ${JSON.stringify(agent)} closed with evaluation ${evaluationId} (incidents: ${incidentIds.join(', ')})`,
      );
    });
}

import type { APIRequestContext } from 'playwright-core';

/** The name and path of every page in a workspace and of the account page: all lists, and at least one record of each kind. */
export async function listPages(request: APIRequestContext, workspace: string): Promise<[name: string, path: string][]> {
  const get = async (path: string) => (await request.get(`/api/portal/workspaces/${workspace}/${path}`)).json();
  const [agents, traces, events, evaluations, decisions, pending, approved, incidents] = await Promise.all([
    get('agents?search=support-bot'),
    get('runs?source=trace'),
    get('runs?source=telemetry'),
    get('evaluations'),
    get('decisions'),
    get('approvals'),
    get('approvals?status=approved'),
    get('incidents'),
  ]);
  const recordIdOf = (trace: string) => traces.items.find((each: { trace_id: string }) => each.trace_id === trace).id;
  const [approval] = [...pending.items, ...approved.items];
  const pathOf = (path: string) => `/w/${workspace}/${path}`;
  return [
    ['overview', pathOf('')],
    ['agents', pathOf('agents')],
    ['agent', pathOf(`agents/${agents.items[0].id}`)],
    ['agent-with-history', pathOf(`agents/${(await get('agents?search=refund-agent')).items.at(-1).id}`)],
    ['runs', pathOf('runs')],
    ['run', pathOf(`runs/traces/${recordIdOf('run-refund-4711')}?step=plan`)],
    ['run-long', pathOf(`runs/traces/${recordIdOf('run-research-market')}`)],
    ['run-event', pathOf(`runs/events/${events.items[0].id}/${events.items[0].ordinal}`)],
    ['evaluations', pathOf('evaluations')],
    ['evaluation', pathOf(`evaluations/${evaluations.items[0].id}`)],
    ['decisions', pathOf('decisions')],
    ['decision', pathOf(`decisions/${decisions.items[0].id}`)],
    ['ledger', pathOf('ledger')],
    ['ledger-entry', pathOf('ledger/3')],
    ['approvals', pathOf('approvals')],
    ['approval', pathOf(`approvals/${approval.evaluation.id}`)],
    ['incidents', pathOf('incidents')],
    ['violations', pathOf('incidents?tab=violations')],
    ['incident', pathOf(`incidents/${incidents.items[0].id}`)],
    ['keys', pathOf('keys')],
    ['key-trail', pathOf('keys?tab=trail')],
    ['members', pathOf('members')],
    ['signing', pathOf('signing')],
    ['workspace', pathOf('settings')],
    ['account', '/account'],
  ];
}

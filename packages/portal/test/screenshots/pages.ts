import type { APIRequestContext } from 'playwright-core';

/** Every page by its name, with its path: all lists, and one record of each kind. */
export async function pagesOf(request: APIRequestContext, workspace: string): Promise<[name: string, path: string][]> {
  const get = async (path: string) => (await request.get(`/api/portal/workspaces/${workspace}/${path}`)).json();
  const [agents, traces, events, evaluations, decisions, waiting, approved, incidents] = await Promise.all([
    get('agents?search=support-bot'),
    get('runs?source=trace'),
    get('runs?source=telemetry'),
    get('evaluations'),
    get('decisions'),
    get('approvals'),
    get('approvals?status=approved'),
    get('incidents'),
  ]);
  const byTrace = (trace: string) => traces.items.find((each: { trace_id: string }) => each.trace_id === trace).id;
  const [approval] = [...waiting.items, ...approved.items];
  const of = (path: string) => `/w/${workspace}/${path}`;
  return [
    ['overview', of('')],
    ['agents', of('agents')],
    ['agent', of(`agents/${agents.items[0].id}`)],
    ['agent-with-history', of(`agents/${(await get('agents?search=refund-agent')).items.at(-1).id}`)],
    ['runs', of('runs')],
    ['run', of(`runs/traces/${byTrace('run-refund-4711')}?step=plan`)],
    ['run-long', of(`runs/traces/${byTrace('run-research-market')}`)],
    ['run-event', of(`runs/events/${events.items[0].id}/${events.items[0].ordinal}`)],
    ['evaluations', of('evaluations')],
    ['evaluation', of(`evaluations/${evaluations.items[0].id}`)],
    ['decisions', of('decisions')],
    ['decision', of(`decisions/${decisions.items[0].id}`)],
    ['ledger', of('ledger')],
    ['ledger-entry', of('ledger/3')],
    ['approvals', of('approvals')],
    ['approval', of(`approvals/${approval.evaluation.id}`)],
    ['incidents', of('incidents')],
    ['violations', of('incidents?tab=violations')],
    ['incident', of(`incidents/${incidents.items[0].id}`)],
    ['keys', of('keys')],
    ['key-trail', of('keys?tab=trail')],
    ['members', of('members')],
    ['signing', of('signing')],
    ['workspace', of('settings')],
    ['account', '/account'],
  ];
}

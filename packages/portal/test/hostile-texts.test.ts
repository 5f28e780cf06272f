import { beforeAll, expect, test } from 'vitest';
import { rebuildAllEvidence } from '../../server/test/harness/evidence-log.ts';
import { createPerson, PASSWORD } from '../../server/test/harness/portal-browser.ts';
import { createHighRiskAgent, newWorkspace, paths, type Workspace } from './harness.ts';
import { openWindow } from './window.ts';

/** Texts that could run as markup, reverse the text after them, or overflow their column. */
const BIDI = '\u202eturned';
const UNBROKEN = 'longer-than-any-column'.repeat(4);
const MARKUP = `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>"'><svg/onload=window.hacked=1> {{7*7}}`;
const HOSTILE = `${MARKUP} ${UNBROKEN} ${BIDI}`;
const LINK = 'javascript:window.hacked=1';

let workspace: Workspace;
const pages: Record<string, string> = {
  overview: '',
  agents: 'agents',
  runs: 'runs',
  evaluations: 'evaluations',
  decisions: 'decisions',
  ledger: 'ledger',
  'an entry': 'ledger/1',
  approvals: 'approvals',
  incidents: 'incidents',
  violations: 'incidents?tab=violations',
  keys: 'keys',
  'key trail': 'keys?tab=trail',
  members: 'members',
  settings: 'settings',
  account: '/account',
};

beforeAll(async () => {
  workspace = await newWorkspace(HOSTILE);
  const { send, id, server } = workspace;
  // The server registers no agent with such a name, but accepts records of an agent that already has such a name.
  await server.database.sql('INSERT INTO countersign.agents (tenant_id, id, name) VALUES ($1, gen_random_uuid(), $2)', [
    id,
    HOSTILE,
  ]);
  await rebuildAllEvidence(server);
  const members = { error: HOSTILE, metadata: { [HOSTILE]: HOSTILE, link: LINK } };
  const spans = [
    { span_id: 's1', kind: 'llm', name: HOSTILE, model: HOSTILE, messages: [{ role: 'user', content: HOSTILE }], ...members },
    {
      span_id: 's2',
      parent_span_id: 's1',
      kind: 'tool',
      name: LINK,
      tool_arguments: { url: LINK },
      tool_result: HOSTILE,
      ...members,
    },
  ];
  const entry = { actor: HOSTILE, action: 'policy.violation', rationale: HOSTILE, subject: HOSTILE };
  await send(paths.audit, { ...entry, metadata: { policy: HOSTILE, severity: 'high', href: LINK } });
  const { id: trace } = await send(paths.traces, {
    trace_id: HOSTILE,
    session_id: LINK,
    agent_name: HOSTILE,
    detail: HOSTILE,
    spans,
    ...members,
  });
  const agent = await createHighRiskAgent(workspace, HOSTILE);
  await send(paths.evaluations, {
    name: HOSTILE,
    category: HOSTILE,
    notes: HOSTILE,
    agent_name: HOSTILE,
    status: 'passing',
    pass_rate: 95,
  });
  const { decision_id: decision } = await send(paths.promotionCheck, { agent_name: HOSTILE });
  const { browser } = await createPerson(server, { [id]: 'admin' });
  const api = `/workspaces/${id}`;
  const incident = await browser.call('POST', `${api}/incidents`, {
    agent_id: agent,
    severity: 'high',
    description: HOSTILE,
    recertify: true,
  });
  await browser.call('POST', `${api}/keys`, { kind: 'live', name: HOSTILE, scopes: ['audit'] });
  await browser.call('PATCH', '/account', { name: HOSTILE });
  const { body: approvals } = await browser.call('GET', `${api}/approvals`);
  const evaluation: string = approvals.items[0].evaluation.id;
  Object.assign(pages, {
    'an agent': `agents/${agent}`,
    'a run': `runs/traces/${trace}`,
    'a step': `runs/traces/${trace}?step=s1`,
    'an evaluation': `evaluations/${evaluation}`,
    'a decision': `decisions/${decision}`,
    'an approval': `approvals/${evaluation}`,
    'an incident': `incidents/${incident.body.id}`,
  });
});

/** Finds scripts that ran, elements created from texts, executable links, texts that reverse the text after them, and hidden columns. */
const FIND_PROBLEMS = `(() => {
  const found = [];
  if ('hacked' in window) found.push('a script ran');
  for (const element of document.querySelectorAll('[onerror], [onload], img[src="x"]')) found.push('created <' + element.tagName + '>');
  for (const link of document.querySelectorAll('[href]'))
    if (/^\\s*(javascript|vbscript|data:text)/i.test(link.getAttribute('href'))) found.push('links to ' + link.getAttribute('href'));
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const { textContent, parentElement: parent, nextSibling } = texts.currentNode;
    if (!textContent.includes(${JSON.stringify(BIDI)})) continue;
    const { unicodeBidi, display } = getComputedStyle(parent);
    const isIsolated = display !== 'inline' || /isolate|plaintext/.test(unicodeBidi);
    const next = nextSibling?.textContent.trim() ?? '';
    const element = '<' + parent.tagName + ' class="' + parent.className + '">';
    if (!isIsolated || next !== '') found.push('reverses the text after ' + element + ': ' + next);
  }
  for (const table of document.querySelectorAll('table')) {
    const { scrollWidth, clientWidth } = table.parentElement;
    if (scrollWidth > clientWidth) found.push(table.getAttribute('aria-label') + ': ' + (scrollWidth - clientWidth) + ' pixels hidden');
  }
  return [...new Set(found)];
})()`;

test('pages show texts from senders as plain text: no scripts, executable links, effects on other text or hidden columns', async () => {
  const { page, pageErrors } = await workspace.visit('admin');
  const dialogs: string[] = [];
  page.on('dialog', (dialog) => {
    dialogs.push(dialog.message());
    void dialog.dismiss();
  });
  const problems: Record<string, string[]> = {};
  for (const [name, path] of Object.entries(pages)) {
    await page.goto(path.startsWith('/') ? path : `/w/${workspace.id}/${path}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await expect.poll(() => page.getByRole('status', { name: 'Loading' }).count(), { timeout: 20_000 }).toBe(0);
    await page.waitForLoadState('networkidle');
    const found = (await page.evaluate(FIND_PROBLEMS)) as string[];
    if (found.length > 0) problems[name] = found;
  }
  expect(problems).toEqual({});
  expect(await page.title()).not.toBe('');
  expect({ dialogs, pageErrors }).toEqual({ dialogs: [], pageErrors: [] });
});

test.each([
  'https://evil.example/',
  '//evil.example/',
  '/\\evil.example/',
  '/\t/evil.example/',
  '/%5Cevil.example/',
  'javascript:window.hacked=1',
])('a sign-in with the redirect target %j stays on the server and runs no script', async (to) => {
  const someone = await createPerson(workspace.server, { [workspace.id]: 'viewer' });
  const { page } = await openWindow({ baseURL: workspace.server.url });
  await page.goto(`/sign-in?to=${encodeURIComponent(to)}`);
  await page.getByLabel('Email address').fill(someone.email);
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL((url) => url.pathname !== '/sign-in');
  await page.waitForLoadState('networkidle');
  expect(new URL(page.url()).origin).toBe(workspace.server.url);
  expect(await page.evaluate(`'hacked' in window`)).toBe(false);
});

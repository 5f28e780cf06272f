import { beforeAll, expect, test } from 'vitest';
import { evidenceOfAll } from '../../server/test/harness/evidence-log.ts';
import { PASSWORD } from '../../server/test/harness/portal-browser.ts';
import { highRiskAgent, newWorkspace, paths, type Workspace } from './harness.ts';
import { openWindow } from './window.ts';

/** What would run if a page took it for markup, what turns all that follows around if nothing holds it, and what has no place to break. */
const TURNED = '\u202eturned';
const UNBROKEN = 'longer-than-any-column'.repeat(4);
const HOSTILE = `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>"'><svg/onload=window.hacked=1> {{7*7}} ${UNBROKEN} ${TURNED}`;
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
  // A name like this is refused today; one that was registered before the rule stays addressable.
  await server.database.sql('INSERT INTO countersign.agents (tenant_id, id, name) VALUES ($1, gen_random_uuid(), $2)', [
    id,
    HOSTILE,
  ]);
  await evidenceOfAll(server);
  const text = { error: HOSTILE, metadata: { [HOSTILE]: HOSTILE, link: LINK } };
  const spans = [
    { span_id: 's1', kind: 'llm', name: HOSTILE, model: HOSTILE, messages: [{ role: 'user', content: HOSTILE }], ...text },
    {
      span_id: 's2',
      parent_span_id: 's1',
      kind: 'tool',
      name: LINK,
      tool_arguments: { url: LINK },
      tool_result: HOSTILE,
      ...text,
    },
  ];
  const actor = { actor: HOSTILE, action: 'policy.violation', rationale: HOSTILE, subject: HOSTILE };
  await send(paths.audit, { ...actor, metadata: { policy: HOSTILE, severity: 'high', href: LINK } });
  const { id: trace } = await send(paths.traces, {
    trace_id: HOSTILE,
    session_id: LINK,
    agent_name: HOSTILE,
    detail: HOSTILE,
    spans,
    ...text,
  });
  const agent = await highRiskAgent(workspace, HOSTILE);
  await send(paths.evaluations, {
    name: HOSTILE,
    category: HOSTILE,
    notes: HOSTILE,
    agent_name: HOSTILE,
    status: 'passing',
    pass_rate: 95,
  });
  const { decision_id: decision } = await send(paths.promotionCheck, { agent_name: HOSTILE });
  const { browser } = await workspace.visit('admin');
  const at = `/workspaces/${id}`;
  const incident = await browser.call('POST', `${at}/incidents`, {
    agent_id: agent,
    severity: 'high',
    description: HOSTILE,
    recertify: true,
  });
  await browser.call('POST', `${at}/keys`, { kind: 'live', name: HOSTILE, scopes: ['audit'] });
  await browser.call('PATCH', '/account', { name: HOSTILE });
  const { body: queue } = await browser.call('GET', `${at}/approvals`);
  const evaluation: string = queue.items[0].evaluation.id;
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

/** Looks, in the page, for scripts that ran, elements that came of texts, links that would run, texts that turn what follows around, and tables with columns out of sight. */
const LOOK = `(() => {
  const found = [];
  if ('hacked' in window) found.push('a script ran');
  for (const made of document.querySelectorAll('[onerror], [onload], img[src="x"]')) found.push('made <' + made.tagName + '>');
  for (const link of document.querySelectorAll('[href]'))
    if (/^\\s*(javascript|vbscript|data:text)/i.test(link.getAttribute('href'))) found.push('leads to ' + link.getAttribute('href'));
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const { textContent, parentElement: holder, nextSibling } = texts.currentNode;
    if (!textContent.includes(${JSON.stringify(TURNED)})) continue;
    const { unicodeBidi, display } = getComputedStyle(holder);
    const isHeld = display !== 'inline' || /isolate|plaintext/.test(unicodeBidi);
    const behind = nextSibling?.textContent.trim() ?? '';
    if (!isHeld || behind !== '') found.push('turns around what is behind <' + holder.tagName + ' class="' + holder.className + '">: ' + behind);
  }
  for (const table of document.querySelectorAll('table')) {
    const { scrollWidth, clientWidth } = table.parentElement;
    if (scrollWidth > clientWidth) found.push(table.getAttribute('aria-label') + ': ' + (scrollWidth - clientWidth) + ' pixels out of sight');
  }
  return [...new Set(found)];
})()`;

test('texts from elsewhere are shown as texts on every page: nothing of them runs, leads away, turns around what stands beside it or moves it out of sight', async () => {
  const { page, pageErrors } = await workspace.visit('admin');
  const dialogs: string[] = [];
  page.on('dialog', (dialog) => {
    dialogs.push(dialog.message());
    void dialog.dismiss();
  });
  const seen: Record<string, string[]> = {};
  for (const [name, path] of Object.entries(pages)) {
    await page.goto(path.startsWith('/') ? path : `/w/${workspace.id}/${path}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await expect.poll(() => page.getByRole('status', { name: 'Loading' }).count(), { timeout: 20_000 }).toBe(0);
    await page.waitForLoadState('networkidle');
    const found = (await page.evaluate(LOOK)) as string[];
    if (found.length > 0) seen[name] = found;
  }
  expect(seen).toEqual({});
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
])('the sign-in does not lead to %j', async (to) => {
  const someone = await workspace.visit('viewer');
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

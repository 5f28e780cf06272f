import { describe, expect, test } from 'vitest';
import { importJUnit } from '../../src/importers/junit.ts';
import { faultOf, resultsFile } from '../fixtures/results/import.ts';

const of = (xml: string) => importJUnit(Buffer.from(xml));

describe('JUnit XML', () => {
  test('failures and errors did not pass; what merely looks like an element does not count', () => {
    expect(importJUnit(resultsFile('junit.xml'))).toEqual({
      tool: 'junit',
      name: 'agent evals',
      status: 'passing',
      pass_rate: 60,
      notes: 'JUnit: 3 of 5 cases passed (1 failed, 1 in error).',
      cases: { total: 5, passed: 3, failed: 1, errored: 1, skipped: 0 },
      evaluated_at: '2026-11-20T09:30:00.000Z',
      completeness: 'unknown',
      suite: { name: 'agent evals' },
    });
  });

  test('one suite as the root, and suites within suites, are counted alike', () => {
    expect(of('<testsuite name="s"><testcase name="a"/><testcase name="b"><failure/></testcase></testsuite>')).toMatchObject({
      name: 's',
      pass_rate: 50,
    });
    const nested =
      '<testsuites><testsuite name="outer" tests="3"><testsuite name="inner" tests="2"><testcase name="a"/><testcase name="b"/></testsuite><testcase name="c"/></testsuite></testsuites>';
    expect(of(nested)).toMatchObject({ name: 'outer', cases: { total: 3, passed: 3 } });
  });

  test('a report without a name is named after its only suite, and plainly after the tool when it has several', () => {
    expect(of('<testsuites><testsuite name="only"><testcase/></testsuite></testsuites>').name).toBe('only');
    expect(
      of('<testsuites><testsuite name="one"><testcase/></testsuite><testsuite name="two"><testcase/></testsuite></testsuites>')
        .name,
    ).toBe('junit');
  });

  test('skipped cases count as not passed, unless they are left out on purpose', () => {
    const skipping =
      '<testsuite tests="4" skipped="2"><testcase/><testcase/><testcase><skipped/></testcase><testcase status="notrun"/></testsuite>';
    expect(of(skipping)).toMatchObject({
      pass_rate: 50,
      notes: expect.stringContaining('JUnit: 2 of 4 cases passed (2 skipped, which count as not passed).'),
    });
    expect(importJUnit(Buffer.from(skipping), { ignoreSkipped: true })).toMatchObject({
      pass_rate: 100,
      cases: { total: 4, passed: 2, skipped: 2 },
    });
    expect(() =>
      importJUnit(Buffer.from('<testsuite><testcase><skipped/></testcase></testsuite>'), { ignoreSkipped: true }),
    ).toThrow('no cases');
  });

  test('cases that the totals count and the report does not hold did not pass', () => {
    expect(of('<testsuite tests="10"><testcase/><testcase/></testsuite>')).toMatchObject({
      pass_rate: 20,
      cases: { total: 10, passed: 2 },
    });
    expect(of('<testsuites tests="4"><testsuite tests="2"><testcase/><testcase/></testsuite></testsuites>')).toMatchObject({
      pass_rate: 50,
    });
  });

  test('a suite that says it failed is believed, although its cases look well', () => {
    expect(of('<testsuite tests="2" errors="1"><testcase/><testcase/></testsuite>')).toMatchObject({
      pass_rate: 50,
      cases: { total: 2, passed: 1 },
    });
  });

  test.each([
    ['a file of no bytes', '', 'empty'],
    ['no cases', '<testsuites/>', 'no_cases'],
    ['suites without cases', '<testsuites><testsuite name="a" tests="0"/></testsuites>', 'no_cases'],
    ['another XML', '<html><body/></html>', 'not_this_format'],
    ['a testsuite deep in another XML', '<html><testsuite><testcase/></testsuite></html>', 'not_this_format'],
    ['JSON', '{"results":[]}', 'not_this_format'],
    ['a report that is cut off', '<testsuites><testsuite><testcase/>', 'not_this_format'],
    ['tags that do not match', '<testsuite><testcase></testsuite></testcase>', 'not_this_format'],
    ['two roots', '<testsuite><testcase/></testsuite><testsuite><testcase/></testsuite>', 'not_this_format'],
  ])('%s is refused and says why', (_what, xml, fault) => {
    expect(faultOf(() => of(xml))).toBe(fault);
  });
});

describe('hostile XML', () => {
  test('an entity bomb is refused, and so is its declaration alone', () => {
    const lols = Array.from({ length: 9 }, (_, level) => `<!ENTITY lol${level + 1} "${`&lol${level};`.repeat(10)}">`).join('');
    const bomb = `<!DOCTYPE t [<!ENTITY lol0 "lol">${lols}]><testsuite><testcase name="&lol9;"/></testsuite>`;
    expect(faultOf(() => of(bomb))).toBe('not_this_format');
    expect(() => of(bomb.replace('&lol9;', 'a'))).toThrow('DOCTYPE');
  });

  test('external entities and external document types are refused, and entities that nobody declared', () => {
    const external = '<!DOCTYPE t [<!ENTITY x SYSTEM "file:///etc/passwd">]><testsuite><testcase name="&x;"/></testsuite>';
    expect(faultOf(() => of(external))).toBe('not_this_format');
    expect(() => of('<!DOCTYPE testsuite SYSTEM "http://127.0.0.1:1/x.dtd"><testsuite><testcase/></testsuite>')).toThrow(
      'DOCTYPE',
    );
    expect(faultOf(() => of('<testsuite><testcase name="&x;"/></testsuite>'))).toBe('not_this_format');
  });

  test('a hundred thousand opening tags cost an error and not the stack', () => {
    expect(() => of('<testsuite>'.repeat(100_000))).toThrow('nested too deeply');
  });

  test('names of members that objects have of themselves are only names', () => {
    expect(of('<testsuite __proto__="x" constructor="y" tests="1"><testcase hasOwnProperty="z"/></testsuite>')).toMatchObject({
      pass_rate: 100,
    });
  });
});

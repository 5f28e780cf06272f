import { describe, expect, test } from 'vitest';
import { importJUnit } from '../../src/importers/junit.ts';
import { faultOf, resultsFile } from '../fixtures/results/import.ts';

const importXml = (xml: string) => importJUnit(Buffer.from(xml));

describe('JUnit XML', () => {
  test('counts failures and errors as not passed and ignores text that looks like elements', () => {
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

  test('counts cases of a root suite and of nested suites', () => {
    expect(
      importXml('<testsuite name="s"><testcase name="a"/><testcase name="b"><failure/></testcase></testsuite>'),
    ).toMatchObject({
      name: 's',
      pass_rate: 50,
    });
    const nested =
      '<testsuites><testsuite name="outer" tests="3"><testsuite name="inner" tests="2"><testcase name="a"/><testcase name="b"/></testsuite><testcase name="c"/></testsuite></testsuites>';
    expect(importXml(nested)).toMatchObject({ name: 'outer', cases: { total: 3, passed: 3 } });
  });

  test('names a report without a name after its only suite, or else after the tool', () => {
    expect(importXml('<testsuites><testsuite name="only"><testcase/></testsuite></testsuites>').name).toBe('only');
    expect(
      importXml(
        '<testsuites><testsuite name="one"><testcase/></testsuite><testsuite name="two"><testcase/></testsuite></testsuites>',
      ).name,
    ).toBe('junit');
  });

  test('counts skipped cases as not passed unless they are excluded', () => {
    const reportWithSkippedCases =
      '<testsuite tests="4" skipped="2"><testcase/><testcase/><testcase><skipped/></testcase><testcase status="notrun"/></testsuite>';
    expect(importXml(reportWithSkippedCases)).toMatchObject({
      pass_rate: 50,
      notes: expect.stringContaining('JUnit: 2 of 4 cases passed (2 skipped and counted as not passed).'),
    });
    expect(importJUnit(Buffer.from(reportWithSkippedCases), { ignoreSkipped: true })).toMatchObject({
      pass_rate: 100,
      cases: { total: 4, passed: 2, skipped: 2 },
    });
    expect(() =>
      importJUnit(Buffer.from('<testsuite><testcase><skipped/></testcase></testsuite>'), { ignoreSkipped: true }),
    ).toThrow('no cases except skipped ones');
  });

  test.each(['failed', 'FAIL', 'failure', 'error'])(
    'counts a case with the status %s and without elements as not passed',
    (status) => {
      expect(importXml(`<testsuite><testcase/><testcase status="${status}"/></testsuite>`)).toMatchObject({ pass_rate: 50 });
      expect(importXml(`<testsuite><testcase/><testcase result="${status}"/></testsuite>`)).toMatchObject({ pass_rate: 50 });
    },
  );

  // GoogleTest up to 1.10 writes `result="skipped"` without an element, and leaves the case out of the total `skipped`.
  test.each(['skipped', 'Skipped', 'ignored', 'disabled', 'notrun', 'not_run', 'suppressed', 'pending', 'untested'])(
    'counts a case with the status %s and without elements as skipped',
    (status) => {
      for (const attribute of ['status', 'result'])
        expect(importXml(`<testsuite><testcase/><testcase ${attribute}="${status}"/></testsuite>`)).toMatchObject({
          cases: { total: 2, passed: 1, skipped: 1 },
        });
    },
  );

  test('counts a case with an unknown status as errored, and the notes give the number of such cases', () => {
    expect(
      importXml('<testsuite><testcase/><testcase status="broken"/><testcase result="undefined"/></testsuite>'),
    ).toMatchObject({
      cases: { total: 3, passed: 1, errored: 2 },
      notes: expect.stringContaining('1 of 3 cases passed (2 of unknown outcome and counted as not passed)'),
    });
  });

  // PHPUnit 5.7 to 9 writes `warning` into a case that could not run, and then exits with 1.
  test('counts a case with an unknown element as errored, and names the element', () => {
    const caseWithWarning =
      '<testcase name="a"><warning type="PHPUnit\\Framework\\Warning">No tests found in class "A".</warning></testcase>';
    expect(importXml(`<testsuite tests="2" warnings="2">${caseWithWarning}${caseWithWarning}</testsuite>`)).toMatchObject({
      ...{ status: 'failing', pass_rate: 0, cases: { total: 2, passed: 0, errored: 2 } },
      notes: expect.stringContaining(
        '0 of 2 cases passed (2 of unknown outcome and counted as not passed). Unknown elements in cases: warning.',
      ),
    });
    expect(importXml('<testsuite><testcase/><testcase><n:Inconclusive xmlns:n="urn:n"/></testcase></testsuite>')).toMatchObject({
      cases: { total: 2, passed: 1, errored: 1 },
    });
  });

  test('counts a case with output, properties and attachments as passed', () => {
    const property = '<properties><property name="evidence"><item name="a.txt">YQ==</item></property></properties>';
    const output = '<system-out>a</system-out><system-err>b</system-err><attachments><attachment>c</attachment></attachments>';
    expect(importXml(`<testsuite><testcase>${property}${output}</testcase></testsuite>`)).toMatchObject({ pass_rate: 100 });
  });

  test('counts the warnings in the totals of a suite as not passed', () => {
    expect(importXml('<testsuite tests="3" warnings="2"><testcase/><testcase/><testcase/></testsuite>').cases).toMatchObject({
      total: 3,
      passed: 1,
    });
  });

  test.each(['run', 'passed', 'PASS', 'Success', 'ok', 'completed', '1', ' ', ''])(
    'counts a case with the status "%s" and without a failure as passed',
    (status) => {
      expect(importXml(`<testsuite><testcase status="${status}" result="${status}"/></testsuite>`)).toMatchObject({
        pass_rate: 100,
      });
    },
  );

  test('counts cases as not passed if they appear only in the totals', () => {
    expect(importXml('<testsuite tests="10"><testcase/><testcase/></testsuite>')).toMatchObject({
      pass_rate: 20,
      cases: { total: 10, passed: 2 },
    });
    expect(importXml('<testsuites tests="4"><testsuite tests="2"><testcase/><testcase/></testsuite></testsuites>')).toMatchObject(
      {
        pass_rate: 50,
      },
    );
  });

  test('counts the errors in the totals of a suite, even if its cases show none', () => {
    expect(importXml('<testsuite tests="2" errors="1"><testcase/><testcase/></testsuite>')).toMatchObject({
      pass_rate: 50,
      cases: { total: 2, passed: 1 },
    });
  });

  // The test runners of Ant and Eclipse write an element directly in a suite whose class could not be loaded.
  test.each([
    [
      'an error of a suite without cases',
      '<testsuite name="a" tests="0" errors="1"><error message="ClassNotFound"/></testsuite>',
      10,
    ],
    ['an error beside a case', '<testsuite name="a" tests="1"><error/><testcase/></testsuite>', 11],
    ['a failure in an unknown element of a suite', '<testsuite name="a"><details><failure/></details></testsuite>', 10],
    ['a suite whose totals count an error and no case', '<testsuite name="a" tests="0" errors="1"/>', 10],
    ['a suite whose totals count only a failure', '<testsuite name="a" failures="1"/>', 10],
    ['a suite with the status "error" and no case', '<testsuite name="a" status="error"/>', 10],
    ['a suite with the result "failed" and a passed case', '<testsuite name="a" result="failed"><testcase/></testsuite>', 11],
    ['a suite with success="false"', '<testsuite name="a" success="false"><testcase/></testsuite>', 11],
    ['a suite with an unknown status', '<testsuite name="a" status="broken"><testcase/></testsuite>', 11],
  ])('counts a suite that failed as a whole as one more case: %s', (_what, suite, total) => {
    const passed = `<testsuite tests="9">${'<testcase/>'.repeat(9)}</testsuite>`;
    expect(importXml(`<testsuites>${suite}${passed}</testsuites>`).cases).toMatchObject({ total, passed: total - 1 });
  });

  test('counts a suite that was skipped as a whole as one more skipped case', () => {
    const suites = '<testsuite><skipped/></testsuite><testsuite><testcase/></testsuite>';
    expect(importXml(`<testsuites>${suites}</testsuites>`).cases).toMatchObject({ total: 2, passed: 1, skipped: 1 });
  });

  test('the notes report a suite that failed as a whole', () => {
    const element = '<testsuite name="a"><error/><testcase/></testsuite>';
    expect(importXml(element).notes).toContain(
      '1 of 2 cases passed (1 in error). The outcomes of whole suites count as one case each: 1.',
    );
    const status = '<testsuite name="a" status="failed"><testcase/></testsuite>';
    expect(importXml(status).notes).toContain('suite "a" has the status "failed", and none of its cases failed');
  });

  test('does not count the status of a suite in addition to its failed cases', () => {
    const suite = '<testsuite status="failed"><testcase/><testcase><failure/></testcase></testsuite>';
    expect(importXml(`<testsuites status="failed">${suite}</testsuites>`).cases).toMatchObject({
      total: 2,
      passed: 1,
      failed: 1,
    });
    expect(importXml('<testsuite status="failed" tests="2" failures="1"><testcase/><testcase/></testsuite>').cases).toMatchObject(
      {
        total: 2,
        passed: 1,
      },
    );
    expect(importXml('<testsuite status="skipped"><testcase/><testcase><skipped/></testcase></testsuite>').cases).toMatchObject({
      total: 2,
      passed: 1,
    });
  });

  test.each([
    ['in another element of the case', '<testcase><details><failure/></details></testcase>'],
    ['with a prefix', '<testcase><n:failure xmlns:n="urn:n"/></testcase>'],
    ['with a capital letter', '<testcase><Failure/></testcase>'],
    ['in a case with a capital letter', '<TestCase><Failure/></TestCase>'],
    ['as a status with a capital letter', '<testcase Status="failed"/>'],
    ['as success="false"', '<testcase success="false"/>'],
  ])('counts a failure %s as not passed', (_where, failed) => {
    expect(importXml(`<testsuite><testcase/>${failed}</testsuite>`).cases).toMatchObject({ total: 2, passed: 1, failed: 1 });
  });

  // Surefire writes these elements into cases that passed when they were run again.
  test('counts a case that passed after a retry, with success="true", as passed', () => {
    const flaky = '<testcase success="true"><flakyFailure/><flakyError/></testcase>';
    expect(importXml(`<testsuite success="True">${flaky}</testsuite>`)).toMatchObject({ pass_rate: 100 });
  });

  test('counts disabled cases in the totals of a suite as not passed, in addition to the skipped ones', () => {
    const markedCases = '<testcase status="notrun" result="suppressed"/><testcase><skipped/></testcase>';
    expect(importXml(`<testsuite tests="3" disabled="1" skipped="1"><testcase/>${markedCases}</testsuite>`)).toMatchObject({
      cases: { total: 3, passed: 1, skipped: 2 },
      notes: expect.not.stringContaining('contradict'),
    });
    const unmarkedSuite = `<testsuite tests="4" disabled="2" skipped="1">${'<testcase/>'.repeat(4)}</testsuite>`;
    expect(importXml(unmarkedSuite).cases).toMatchObject({ total: 4, passed: 1 });
  });

  test('reads totals whose names have capital letters, and rejects a total with two values', () => {
    expect(importXml('<testsuite Tests="3" Failures="2"><testcase/><testcase/><testcase/></testsuite>').cases).toMatchObject({
      total: 3,
      passed: 1,
    });
    expect(() => importXml('<testsuite name="s" failures="0" Failures="2"><testcase/></testsuite>')).toThrow(
      'suite "s" has failures="0" and failures="2": the number of passed cases is unknown',
    );
  });

  test.each([
    ['an empty file', '', 'empty'],
    ['no cases', '<testsuites/>', 'no_cases'],
    ['suites without cases', '<testsuites><testsuite name="a" tests="0"/></testsuites>', 'no_cases'],
    ['another XML document', '<html><body/></html>', 'not_this_format'],
    ['a testsuite inside another XML document', '<html><testsuite><testcase/></testsuite></html>', 'not_this_format'],
    ['cases in an unknown element', '<testsuite><g><testcase/></g><testcase/></testsuite>', 'not_this_format'],
    ['suites in unknown elements', '<testsuites><g><g><testsuite/></g></g><testcase/></testsuites>', 'not_this_format'],
    ['cases in a case', '<testsuite><testcase><testcase/></testcase></testsuite>', 'not_this_format'],
    ['JSON', '{"results":[]}', 'not_this_format'],
    ['a truncated report', '<testsuites><testsuite><testcase/>', 'not_this_format'],
    ['tags that do not match', '<testsuite><testcase></testsuite></testcase>', 'not_this_format'],
    ['two roots', '<testsuite><testcase/></testsuite><testsuite><testcase/></testsuite>', 'not_this_format'],
  ])('rejects %s with the reason', (_what, xml, fault) => {
    expect(faultOf(() => importXml(xml))).toBe(fault);
  });
});

describe('characters that XML does not allow', () => {
  // node:test and Bun write a control character unchanged, Mocha and unittest-xml-reporting as a reference. jest-junit keeps U+FFFE.
  test.each([
    ['a color', '\u001b[31mred\u001b[39m'],
    ['a color as a reference', '&#x1B;[31mred&#27;[39m'],
    ['U+0000 and U+FFFE', '\u0000\ufffe'],
    ['references to U+0000 and to half a surrogate pair', '&#0;&#xD83D;'],
  ])('do not matter in messages: %s', (_what, text) => {
    const message = `<failure message="expected ${text}">${text}<![CDATA[${text}]]></failure>`;
    expect(
      importXml(`<testsuite name="s"><testcase name="a ${text}">${message}</testcase><testcase/></testsuite>`),
    ).toMatchObject({
      name: 's',
      cases: { total: 2, passed: 1, failed: 1 },
    });
  });

  test.each([
    ['the name of an element', '<testsuite><testcase><fail\u0000ure/></testcase></testsuite>', 'not_this_format'],
    ['a reference in the name of an element', '<testsuite><testcase><fail&#0;ure/></testcase></testsuite>', 'not_this_format'],
    ['a total', '<testsuite tests="1\u0000"><testcase/></testsuite>', 'contradictory'],
  ])('cause a rejection in %s', (_where, xml, fault) => {
    expect(faultOf(() => importXml(xml))).toBe(fault);
  });
});

test('an unescaped `]]>` in a message, as node:test writes it, does not matter', () => {
  const failed = '<testcase name="a"><failure message="a[b[0]]>1">a[b[0]]>1 <![CDATA[a<b[c[0]]]]>]]></failure></testcase>';
  expect(importXml(`<testsuite>${failed}<testcase name="b"/></testsuite>`)).toMatchObject({
    cases: { total: 2, passed: 1, failed: 1 },
  });
  // The section ends at the first `]]>`, so the failure in it is text.
  const text = '<![CDATA[<failure/>]]>';
  expect(importXml(`<testsuite><testcase><system-out>${text}]]></system-out></testcase></testsuite>`)).toMatchObject({
    pass_rate: 100,
  });
  expect(faultOf(() => importXml('<testsuite><![CDATA[<testcase/></testsuite>'))).toBe('not_this_format');
});

describe('hostile XML', () => {
  test('with an entity bomb is rejected, even if the entity is only declared', () => {
    const lols = Array.from({ length: 9 }, (_, level) => `<!ENTITY lol${level + 1} "${`&lol${level};`.repeat(10)}">`).join('');
    const bomb = `<!DOCTYPE t [<!ENTITY lol0 "lol">${lols}]><testsuite><testcase name="&lol9;"/></testsuite>`;
    expect(faultOf(() => importXml(bomb))).toBe('not_this_format');
    expect(() => importXml(bomb.replace('&lol9;', 'a'))).toThrow('DOCTYPE');
  });

  test('with an external entity, an external document type or an undeclared entity is rejected', () => {
    const external = '<!DOCTYPE t [<!ENTITY x SYSTEM "file:///etc/passwd">]><testsuite><testcase name="&x;"/></testsuite>';
    expect(faultOf(() => importXml(external))).toBe('not_this_format');
    expect(() => importXml('<!DOCTYPE testsuite SYSTEM "http://127.0.0.1:1/x.dtd"><testsuite><testcase/></testsuite>')).toThrow(
      'DOCTYPE',
    );
    expect(faultOf(() => importXml('<testsuite><testcase name="&x;"/></testsuite>'))).toBe('not_this_format');
  });

  test.each([501, 2_800, 4_500, 100_000])('with %i nested tags is rejected as nested too deeply', (depth) => {
    const nested = `${'<testsuite>'.repeat(depth)}<testcase/>${'</testsuite>'.repeat(depth)}`;
    expect(faultOf(() => importXml(nested))).toBe('not_this_format');
    expect(() => importXml(nested)).toThrow('nested too deeply');
  });

  test('with attributes named like members of Object.prototype is parsed normally', () => {
    expect(
      importXml('<testsuite __proto__="x" constructor="y" tests="1"><testcase hasOwnProperty="z"/></testsuite>'),
    ).toMatchObject({
      pass_rate: 100,
    });
  });
});

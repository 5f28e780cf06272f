import type { Finding, GateSummary } from './gate-finding.ts';
import { oneLine } from './plain-text.ts';

/** The finding as JUnit XML for merge requests in GitLab: a test case for each condition, or one error if there is no decision. */
export function gateJUnit({ decision }: Finding, summary: GateSummary): string {
  const cases =
    decision === undefined
      ? [caseOf('decision', `<error message="${escapeAttribute(summary.message)}"/>`)]
      : decision.checks.map(({ condition, passed, message }) =>
          caseOf(condition, passed ? '' : `<failure message="${escapeAttribute(oneLine(message))}"/>`),
        );
  const failures = decision?.checks.filter(({ passed }) => !passed).length ?? 0;
  const counts = `tests="${cases.length}" failures="${failures}" errors="${decision === undefined ? 1 : 0}"`;
  const name = `name="${escapeAttribute(`promotion of ${summary.agent}`)}"`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites ${name} ${counts}>\n  <testsuite ${name} ${counts}>\n${cases.join('')}  </testsuite>\n</testsuites>\n`;
}

const caseOf = (name: string, result: string): string =>
  `    <testcase classname="countersign.gate" name="${escapeAttribute(name)}"${result === '' ? '/>' : `>${result}</testcase>`}\n`;

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;' };

/** Escapes text for an attribute. ASCII control characters, and characters that XML 1.0 does not allow, become U+FFFD. */
const escapeAttribute = (text: string): string =>
  text
    .toWellFormed()
    .replace(/[\u0000-\u001f\u007f\ufffe\uffff]/g, '\ufffd')
    .replace(/[&<>"']/g, (char) => ESCAPES[char]!);

import type { Finding, GateMessage } from './gate-finding.ts';
import { oneLine } from './plain-text.ts';

/** The finding as JUnit XML: a case for each condition, which GitLab shows in the merge request; one case in error when nothing was decided. */
export function gateJUnit({ decision }: Finding, told: GateMessage): string {
  const cases =
    decision === undefined
      ? [caseOf('decision', `<error message="${attribute(told.message)}"/>`)]
      : decision.checks.map(({ condition, passed, message }) =>
          caseOf(condition, passed ? '' : `<failure message="${attribute(oneLine(message))}"/>`),
        );
  const failures = decision?.checks.filter(({ passed }) => !passed).length ?? 0;
  const counts = `tests="${cases.length}" failures="${failures}" errors="${decision === undefined ? 1 : 0}"`;
  const name = `name="${attribute(`promotion of ${told.agent}`)}"`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites ${name} ${counts}>\n  <testsuite ${name} ${counts}>\n${cases.join('')}  </testsuite>\n</testsuites>\n`;
}

const caseOf = (name: string, inside: string): string =>
  `    <testcase classname="countersign.gate" name="${attribute(name)}"${inside === '' ? '/>' : `>${inside}</testcase>`}\n`;

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;' };

/** Text as it may stand in an attribute; what XML 1.0 cannot hold at all becomes U+FFFD. */
const attribute = (text: string): string =>
  text
    .toWellFormed()
    .replace(/[\u0000-\u001f\u007f\ufffe\uffff]/g, '\ufffd')
    .replace(/[&<>"']/g, (char) => ESCAPES[char]!);

import { IconCircleCheckFilled, IconCircleDashed, IconCircleXFilled } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import type { Finding } from '../../proof/check-decision.ts';

const ICONS = { unchecked: IconCircleDashed, passed: IconCircleCheckFilled, failed: IconCircleXFilled };
const LABELS = { unchecked: 'not checked', passed: 'passed', failed: 'failed' };

/** The result of one check. `fallback` is shown while the check has not run. */
export function FindingItem({ title, finding, fallback }: { title: string; finding: Finding | undefined; fallback?: ReactNode }) {
  const state = finding === undefined ? 'unchecked' : finding.passed ? 'passed' : 'failed';
  const Icon = ICONS[state];
  return (
    <li data-state={state}>
      <Icon size={19} aria-hidden />
      <div>
        <h3>
          {title}
          <span className="visually-hidden">: {LABELS[state]}</span>
        </h3>
        {finding === undefined ? fallback : <p>{finding.detail}</p>}
      </div>
    </li>
  );
}

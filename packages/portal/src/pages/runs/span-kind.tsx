import { IconBrain, IconDatabaseSearch, IconPoint, IconRobot, IconShieldCheck, IconTool } from '@tabler/icons-react';
import styles from './span-kind.module.css';
import type { Span } from './span-tree.ts';

const ICONS = {
  agent: IconRobot,
  llm: IconBrain,
  tool: IconTool,
  retrieval: IconDatabaseSearch,
  guardrail: IconShieldCheck,
  other: IconPoint,
};

/** The kind of a step as an icon. `withLabel` shows the name of the kind; otherwise only screen readers read it. */
export function SpanKind({ kind, withLabel = false }: { kind: Span['kind']; withLabel?: boolean }) {
  const Icon = ICONS[kind];
  return (
    <span className={styles.kind} data-kind={kind} data-with-label={withLabel || undefined}>
      <Icon size={14} stroke={1.9} aria-hidden />
      {withLabel ? kind : <span className="visually-hidden">{kind}: </span>}
    </span>
  );
}

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

/** What kind of step it was, as a small sign; with its word where there is room (`worded`). */
export function SpanKind({ kind, worded = false }: { kind: Span['kind']; worded?: boolean }) {
  const Icon = ICONS[kind];
  return (
    <span className={styles.kind} data-kind={kind} data-worded={worded || undefined}>
      <Icon size={14} stroke={1.9} aria-hidden />
      {worded ? kind : <span className="visually-hidden">{kind}: </span>}
    </span>
  );
}

import { visibleSpaces } from '@countersign/core/domain/visible-spaces';
import type { AgentName } from '@countersign/core/portal/agent-facts';
import { Link } from '@tanstack/react-router';
import { Fragment } from 'react';
import { TruncatedText } from './truncated-text.tsx';

/** Links to the agents with similar names. Renders nothing if there are none. */
export function SimilarAgents({ workspace, agents }: { workspace: string; agents: readonly AgentName[] }) {
  if (agents.length === 0) return null;
  return (
    <span className="soft">
      Similar to{' '}
      {agents.map(({ id, name }, index) => (
        <Fragment key={id}>
          {index > 0 && ', '}
          <Link to="/w/$workspace/agents/$agent" params={{ workspace, agent: id }}>
            <TruncatedText text={visibleSpaces(name)} long />
          </Link>
        </Fragment>
      ))}
    </span>
  );
}

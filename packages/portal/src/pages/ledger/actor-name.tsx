import { shorten } from '@countersign/core/domain/shorten';
import { visibleSpaces } from '@countersign/core/domain/visible-spaces';
import { Actor } from '../../components/actor.tsx';

const SHORT_LENGTH_MAX = 20;

/**
 * The actor or subject of an entry: a member of the workspace by name, any other value as sent, with visible spaces. `short` truncates long
 * values.
 */
export const ActorName = ({ actor, short = false }: { actor: string; short?: boolean }) => {
  if (actor.startsWith('user:')) return <Actor by={actor} />;
  const text = visibleSpaces(actor);
  if (!short) return <span className="break">{text}</span>;
  const shownText = shorten(text, SHORT_LENGTH_MAX);
  return (
    <span className="nowrap" data-hint={shownText === text ? undefined : text}>
      {shownText}
    </span>
  );
};

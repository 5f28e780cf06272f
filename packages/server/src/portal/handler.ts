import type { Access, AnswerOf, BodyOf, ParametersOf, PortalRoute, QueryOf, Role } from '@countersign/core/portal/route';
import type { RouteName, RouteOf } from '@countersign/core/portal/routes';
import type { Room } from '../http/outgoing.ts';
import type { Caller } from '../people/sign-in.ts';
import type { ActingMember } from '../workspace/actor.ts';
import type { PortalParts } from './portal-parts.ts';

/** Somebody who is signed in. */
export interface SignedInPerson {
  id: string;
  email: string;
  name: string;
  hasPassword: boolean;
  session: { id: string; expiresAt: string };
}

/** Who is asking, as the route's rule has made sure: nobody in particular, a person, or a member with at least the role of the rule. */
export type Asking<A extends Access> = A extends 'anyone'
  ? object
  : A extends Role
    ? { person: SignedInPerson; workspace: string; role: Role; actor: ActingMember }
    : { person: SignedInPerson };

/** A request as it reaches its handler: the rule holds, and parameters, query and body are those of the route. */
export type Asked<R extends PortalRoute> = Asking<R['access']> & {
  /** Ids in them are UUIDs in lower case, but whether there is such a thing is for the handler to say (404). */
  params: ParametersOf<R>;
  query: QueryOf<R>;
  body: BodyOf<R>;
  /** The token in the request's cookie, good or not. */
  sessionToken: string | undefined;
  caller: Caller;
  /** Where documents reserve room before they are read. */
  room: Room;
  parts: PortalParts;
};

/** An answer with headers of its own, or one that is no JSON: text or pages of text, with its `content-type` among the headers. */
export class Reply<Body> {
  readonly body: Body | string | Buffer | AsyncIterable<string>;
  readonly headers: Record<string, string>;
  readonly isJson: boolean;

  private constructor(body: Reply<Body>['body'], headers: Record<string, string>, isJson: boolean) {
    this.body = body;
    this.headers = headers;
    this.isJson = isJson;
  }

  static json<Body>(body: Body, headers: Record<string, string>): Reply<Body> {
    return new Reply<Body>(body, headers, true);
  }

  /** A file, whole or in pages; `name` makes the browser keep it under that name. */
  static file(content: string | Buffer | AsyncIterable<string>, contentType: string, name?: string): Reply<never> {
    const disposition = name === undefined ? {} : { 'content-disposition': `attachment; filename="${name}"` };
    return new Reply<never>(content, { 'content-type': contentType, ...disposition }, false);
  }
}

/** What a route does: JSON of its schema comes back, or a Reply. Throws an ApiError, a Refusal (409) or a WrongInput (422). */
export type Handler<N extends RouteName> = (
  asked: Asked<RouteOf<N>>,
) => Promise<AnswerOf<RouteOf<N>> | Reply<AnswerOf<RouteOf<N>>>>;

/** Handlers of some routes by name; a name that no route has does not compile. */
export const handlers = <N extends RouteName>(table: { [Name in N]: Handler<Name> }): { [Name in N]: Handler<Name> } => table;

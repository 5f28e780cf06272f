import type { Access, BodyOf, ParametersOf, PortalRoute, QueryOf, ResponseOf, Role } from '@countersign/core/portal/route';
import type { RouteName, RouteOf } from '@countersign/core/portal/routes';
import type { ResponseMemory } from '../http/outgoing.ts';
import type { Caller } from '../people/sign-in.ts';
import type { ActingMember } from '../workspace/actor.ts';
import type { PortalParts } from './portal-parts.ts';

/** A signed-in person. */
export interface SignedInPerson {
  id: string;
  email: string;
  name: string;
  hasPassword: boolean;
  session: { id: string; expiresAt: string };
}

/** The facts about the requester that the access rule of a route guarantees: none, a person, or a member with at least the rule's role. */
export type RequesterOf<A extends Access> = A extends 'anyone'
  ? object
  : A extends Role
    ? { person: SignedInPerson; workspace: string; role: Role; actor: ActingMember }
    : { person: SignedInPerson };

/** A request for a handler. The access rule holds, and parameters, query and body match the route. */
export type HandlerRequest<R extends PortalRoute> = RequesterOf<R['access']> & {
  /** IDs are UUIDs in lower case. The handler checks whether the object exists (404). */
  params: ParametersOf<R>;
  query: QueryOf<R>;
  body: BodyOf<R>;
  /** The token in the request's cookie, valid or not. */
  sessionToken: string | undefined;
  caller: Caller;
  /** Reserves memory for documents before they are read. */
  memory: ResponseMemory;
  parts: PortalParts;
};

/** A JSON response with its own headers, or a response that is not JSON: text, bytes or pages of text, with its `content-type`. */
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

  /** A file, complete or in pages; `name` is the file name for the browser. */
  static file(content: string | Buffer | AsyncIterable<string>, contentType: string, name?: string): Reply<never> {
    const disposition = name === undefined ? {} : { 'content-disposition': `attachment; filename="${name}"` };
    return new Reply<never>(content, { 'content-type': contentType, ...disposition }, false);
  }
}

/**
 * Handles a route: returns JSON of its schema, or a Reply. May throw an ApiError, a NotFoundError (404), a RuleViolationError (409) or an
 * InvalidInputError (422).
 */
export type Handler<N extends RouteName> = (
  request: HandlerRequest<RouteOf<N>>,
) => Promise<ResponseOf<RouteOf<N>> | Reply<ResponseOf<RouteOf<N>>>>;

/** Handlers of some routes by name; an unknown name does not compile. */
export const handlers = <N extends RouteName>(table: { [Name in N]: Handler<Name> }): { [Name in N]: Handler<Name> } => table;

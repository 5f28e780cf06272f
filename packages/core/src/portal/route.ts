import type { Static, TObject, TSchema } from 'typebox';

/** A person's role in a workspace, each with the rights of those before it (portal.md, "People"). */
export const ROLES = ['viewer', 'approver', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** Whether a role has the rights that another one has. */
export const mayActAs = (role: Role, asked: Role): boolean => ROLES.indexOf(role) >= ROLES.indexOf(asked);

/**
 * Who may call a route: `anyone` (sign-in, one-time links), a signed-in `person` whatever their workspaces, or a member of the
 * workspace in the path with at least this role. There is no default: a route without a rule does not compile.
 */
export type Access = 'anyone' | 'person' | Role;

/**
 * The header by which a page says whom it believes to be signed in, by their id. A change that is asked for in somebody's name while another
 * one has signed in, in another tab of the same browser, is refused: what it records could never be taken back.
 */
export const SIGNED_IN_AS = 'countersign-signed-in-as';

/** One route of the portal's own API: the one source of its validation, its types on both sides and its rule. */
export interface PortalRoute {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Under `/api/portal/`; routes of a workspace begin with `/api/portal/workspaces/:workspace/`, its id. Parameters are named `:like_this`. */
  path: `/api/portal/${string}`;
  access: Access;
  /**
   * Whether JSON answers of the route may be compressed. False where an answer carries a secret, signs somebody in or invites them: the size
   * of a compressed answer tells about its secret to those who choose another part of it (BREACH). False for files and streams, which are
   * sent as they are. There is no default.
   */
  compressed: boolean;
  /**
   * A change that is made while the disk of the database is nearly full: it takes rights away, lets people in, or keeps agents back.
   * All other changes are refused then.
   */
  usesReserve?: true;
  /** What it does, in one sentence. */
  summary: string;
  /** The query string; every member is a string there and is validated as such. */
  query?: TObject;
  body?: TObject;
  /** The JSON of a good answer; absent where the answer is a stream or file. */
  answer?: TSchema;
}

/** The names of the parameters in a path. */
export type ParameterOf<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParameterOf<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

type StaticOf<S, Otherwise> = S extends TSchema ? Static<S> : Otherwise;

/** What a route is called with, and what it answers. */
export type ParametersOf<R extends PortalRoute> = Record<ParameterOf<R['path']>, string>;
export type QueryOf<R extends PortalRoute> = StaticOf<R['query'], Record<string, never>>;
export type BodyOf<R extends PortalRoute> = StaticOf<R['body'], undefined>;
export type AnswerOf<R extends PortalRoute> = StaticOf<R['answer'], unknown>;

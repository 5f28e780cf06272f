import type { Static, TObject, TSchema } from 'typebox';

/** The roles in a workspace. Each role has the rights of the roles before it (docs/portal.md). */
export const ROLES = ['viewer', 'approver', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** Whether `role` includes the rights of `required`. */
export const mayActAs = (role: Role, required: Role): boolean => ROLES.indexOf(role) >= ROLES.indexOf(required);

/**
 * Who may call a route: `anyone` (sign-in, one-time links), or a signed-in `person`. A role means a member of the workspace in the path who
 * has at least this role. There is no default, so a route without a rule does not compile.
 */
export type Access = 'anyone' | 'person' | Role;

/**
 * The header with the ID of the person that the page shows as signed in. Another person may have signed in since, in another tab of the
 * same browser. Then requests other than GET are rejected, because changes would be recorded under the wrong name.
 */
export const SIGNED_IN_AS = 'countersign-signed-in-as';

/** One route of the portal's API: the source of its validation, its types and its access rule. */
export interface PortalRoute {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Under `/api/portal/`; routes of a workspace begin with `/api/portal/workspaces/:workspace/`. Parameters are named `:like_this`. */
  path: `/api/portal/${string}`;
  access: Access;
  /**
   * Whether JSON responses of the route may be compressed. False if a response contains a secret, and for all routes of sessions, accounts,
   * one-time links and invitations. The size of a compressed response can reveal its secret to anyone who controls another part of it
   * (BREACH). False for files and streams, which are sent unchanged. There is no default.
   */
  compressed: boolean;
  /**
   * Set if the route works while the disk of the database is nearly full. While it is nearly full, all other routes are rejected, except
   * those with the method GET. The routes with this member remove rights, replace keys, let people sign in, or block agents.
   */
  usesReserve?: true;
  /** A short description of what the route does. */
  summary: string;
  /** The members of the query string. Each is a string. */
  query?: TObject;
  body?: TObject;
  /** The JSON of a successful response; absent for a stream or file. */
  response?: TSchema;
}

/** The names of the parameters in a path. */
export type ParameterOf<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParameterOf<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

type StaticOf<S, Fallback> = S extends TSchema ? Static<S> : Fallback;

/** The types of the path parameters, the query, the body and the response of a route. */
export type ParametersOf<R extends PortalRoute> = Record<ParameterOf<R['path']>, string>;
export type QueryOf<R extends PortalRoute> = StaticOf<R['query'], Record<string, never>>;
export type BodyOf<R extends PortalRoute> = StaticOf<R['body'], undefined>;
export type ResponseOf<R extends PortalRoute> = StaticOf<R['response'], unknown>;

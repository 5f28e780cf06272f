import { inPersonTransaction } from '../database/transaction.ts';
import { ApiError } from '../errors/api-error.ts';
import { changePassword } from '../people/passwords.ts';
import { signIn } from '../people/sign-in.ts';
import { renamePerson } from '../storage/people.ts';
import { deleteSession, listSessions } from '../storage/sessions.ts';
import { handlers, Reply, type SignedInPerson } from './handler.ts';
import { sessionResponse, signInResponse } from './session-response.ts';

const sessionFactsOf = ({ id, email, name, hasPassword, session }: SignedInPerson) => ({
  personId: id,
  email,
  name,
  hasPassword,
  expiresAt: session.expiresAt,
});

/** Signing in and out, and the caller's account. */
export const sessionHandlers = handlers({
  'session.sign_in': async (request) => signInResponse(request, await signIn(request.parts.pool, request.body, request.caller)),

  'session.show': async ({ person, parts }) => sessionResponse(parts.readPool, sessionFactsOf(person)),

  'session.sign_out': async ({ person, parts }) => {
    await inPersonTransaction(parts.pool, person.id, (tx) => deleteSession(tx, person.session.id));
    return Reply.json({ ok: true }, parts.cookie.delete());
  },

  'sessions.list': async ({ person, parts }) => {
    const sessions = await inPersonTransaction(parts.readPool, person.id, listSessions);
    return {
      items: sessions.map(({ id, createdAt, lastUsedAt, expiresAt, userAgent }) => ({
        id,
        current: id === person.session.id,
        created_at: createdAt,
        last_used_at: lastUsedAt,
        expires_at: expiresAt,
        user_agent: userAgent,
      })),
    };
  },

  'sessions.end': async ({ person, params, parts }) => {
    const isEnded = await inPersonTransaction(parts.pool, person.id, (tx) => deleteSession(tx, params.session));
    if (!isEnded) throw new ApiError('not_found');
    return { ok: true };
  },

  'account.rename': async ({ person, body, parts }) => {
    await inPersonTransaction(parts.pool, person.id, (tx) => renamePerson(tx, person.id, body.name));
    return sessionResponse(parts.readPool, { ...sessionFactsOf(person), name: body.name });
  },

  'account.change_password': async (request) => {
    const { person, body, caller, parts } = request;
    const credentials = { email: person.email, password: body.current_password };
    return signInResponse(request, await changePassword(parts.pool, credentials, body.new_password, caller));
  },
});

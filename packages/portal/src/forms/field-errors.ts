import { toProblem } from '../api/problem.ts';

/** What the server says about one field of the form that it refused; undefined when it said nothing about it. */
export function fieldError(error: unknown, field: string): string | undefined {
  if (error === null || error === undefined) return undefined;
  const issues = toProblem(error).issues.filter(({ path }) => path === `/${field}` || path.startsWith(`/${field}/`));
  if (issues.length === 0) return undefined;
  return issues.map(({ message }) => ofThisField(message, field)).join(' ');
}

/** What the server says that belongs to none of the form's fields, for a notice above its button. */
export function formError(error: unknown, fields: readonly string[]): string | undefined {
  if (error === null || error === undefined) return undefined;
  const problem = toProblem(error);
  const others = problem.issues.filter(
    ({ path }) => !fields.some((field) => path === `/${field}` || path.startsWith(`/${field}/`)),
  );
  if (problem.issues.length > 0 && others.length === 0) return undefined;
  return others.length > 0 ? others.map(({ message }) => sentence(message)).join(' ') : problem.message;
}

/** At its field, a message need not repeat the contract's name of the field: `name must …` is `This must …`. */
const ofThisField = (message: string, field: string): string =>
  message.startsWith(`${field} `) ? `This ${message.slice(field.length + 1)}.` : sentence(message);

const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

import { joinMessages, toProblem } from '../api/problem.ts';

/** The server's error message for one field of a form; undefined if there is none. Several messages are joined. */
export function fieldError(error: unknown, field: string): string | undefined {
  if (error === null || error === undefined) return undefined;
  const issues = toProblem(error).issues.filter(({ path }) => path === `/${field}` || path.startsWith(`/${field}/`));
  if (issues.length === 0) return undefined;
  // An empty field also breaks the rules for its characters. The messages about these rules would hide what to do.
  if (issues.some(({ message }) => message === `${field} must not be empty`)) return 'Must not be empty.';
  if (issues.some(({ code }) => code === 'too_few_items')) return 'Select at least one.';
  return joinMessages(issues.map(({ message }) => removeFieldName(message, field)));
}

/** The error message that belongs to no field of the form. The form shows it above the buttons. Undefined if there is none. */
export function formError(error: unknown, fields: readonly string[]): string | undefined {
  if (error === null || error === undefined) return undefined;
  const problem = toProblem(error);
  const others = problem.issues.filter(
    ({ path }) => !fields.some((field) => path === `/${field}` || path.startsWith(`/${field}/`)),
  );
  if (problem.issues.length > 0 && others.length === 0) return undefined;
  return others.length > 0 ? joinMessages(others.map(({ message }) => message)) : problem.message;
}

/** Removes the API's name of the field from a message: `name must …` becomes `Must ….`, and `name is …` becomes `This is ….`. */
const removeFieldName = (message: string, field: string): string =>
  message.startsWith(`${field} must `)
    ? `Must ${message.slice(field.length + 6)}.`
    : message.startsWith(`${field} `)
      ? `This ${message.slice(field.length + 1)}.`
      : message;

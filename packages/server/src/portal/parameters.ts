import { LOGS } from '@countersign/core/portal/ledger-routes';
import { ApiError } from '../errors/api-error.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The parameters that are not IDs, and their forms. */
const OTHER_FORMS: Readonly<Record<string, RegExp>> = {
  seq: /^[1-9]\d{0,14}$/,
  number: /^[1-9]\d{0,8}$/,
  ordinal: /^(0|[1-9]\d{0,8})$/,
  log: new RegExp(`^(${LOGS.join('|')})$`),
  prefix: /^[0-9a-f]{12}$/,
  key: /^dk_[0-9a-f]{12}$/,
};

/** Returns the parameters of a path in lower case, as IDs are stored. Throws 404 for a malformed ID of a workspace. */
export function readParameters(params: Readonly<Record<string, string>>): Record<string, string> {
  const values = Object.fromEntries(Object.entries(params).map(([name, value]) => [name, value.toLowerCase()]));
  if (values.workspace !== undefined && !UUID.test(values.workspace)) throw new ApiError('not_found');
  return values;
}

/**
 * Throws 404 if a parameter does not have its form, which is a UUID by default. It is called after the access rule was checked, so that the
 * response reveals nothing to a person without access.
 */
export function requireForms(params: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(params))
    if (!(OTHER_FORMS[name] ?? UUID).test(value)) throw new ApiError('not_found');
}

import { ApiError, validationFailed } from '../api-error.ts';
import { WrongPassword } from '../people/sign-in.ts';
import { TooManyTries } from '../people/sign-in-limit.ts';
import { Refusal } from '../workspace/refusal.ts';
import { WrongInput } from '../workspace/wrong-input.ts';

/** What the acts throw that do not know of HTTP, as the portal answers it; other errors as they are. */
export function asPortalError(error: unknown): unknown {
  if (error instanceof Refusal) return new ApiError('refused', [{ path: '', code: 'refused', message: error.message }]);
  if (error instanceof WrongInput) return validationFailed({ path: '', code: 'bad_characters', message: error.message });
  if (error instanceof WrongPassword) return new ApiError('sign_in_failed');
  if (error instanceof TooManyTries) return new ApiError('rate_limited', [], { 'Retry-After': String(error.secondsLeft) });
  return error;
}

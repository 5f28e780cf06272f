/** An action violates the rules or does not fit the state of the workspace. The message names the remedy, if there is one. */
export class RuleViolationError extends Error {
  override name = 'RuleViolationError';
}

/** The object of an action does not exist in this workspace. The error does not reveal whether another workspace has the object. */
export class NotFoundError extends RuleViolationError {
  override name = 'NotFoundError';
}

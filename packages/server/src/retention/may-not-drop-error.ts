import { RuleViolationError } from '../workspace/rule-violation.ts';

/** The database role does not own the tables, so it may not delete records. */
export class MayNotDropError extends RuleViolationError {
  override name = 'MayNotDropError';

  constructor() {
    super(
      'the database role may not delete records; set COUNTERSIGN_MIGRATE_DATABASE_URL to the URL of the role that owns the tables',
    );
  }
}

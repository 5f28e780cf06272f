import type { Command } from 'commander';
import { JSON_OPTION } from './arguments.ts';
import { examples } from './help.ts';
import type { Session } from './session.ts';

/** `serve` and `migrate`. */
export function addServe(program: Command, session: Session): void {
  program
    .command('serve')
    .description(
      'Run the server until SIGTERM or Ctrl-C. Sets up what is missing. Without --json, prints the address and the next steps.',
    )
    .option(...JSON_OPTION)
    .addHelpText('after', examples('serve', 'serve --json 2>errors.json'))
    .action(async () => {
      // Only this command needs the HTTP part, which takes a while to load.
      const { serve } = await import('../app/serve.ts');
      session.ending = await serve(session.config, { json: session.json });
    });

  program
    .command('migrate')
    .description('Update the database schema to the version of this server. Prints the migrations that ran, one per line.')
    .option('--citus', 'distribute the tables over the nodes of a Citus cluster (docs/scaling.md)')
    .option(...JSON_OPTION)
    .addHelpText('after', examples('migrate', 'migrate --citus') + MIGRATE_NOTE)
    .action(async ({ citus = false }: { citus?: boolean }) => {
      const mode = citus ? 'distribute' : 'migrate';
      const migrated = await session.withDatabase(async (database) => database.migrated, mode);
      await session.writeResult({ migrated }, migrated.join('\n'));
      session.say(migrated.length === 0 ? 'the schema was up to date' : 'the schema is up to date now');
    });
}

const MIGRATE_NOTE = `
\`serve\` migrates the embedded database and an empty external one. Only this command migrates an older external database,
because another server may be running on it. Stop the older servers first: the command migrates nothing while a server or another command
is connected to the database (exit code 9).

With COUNTERSIGN_MIGRATE_DATABASE_URL, this command also grants the role of DATABASE_URL its rights on the tables.

With --citus, DATABASE_URL must be the URL of the coordinator of a Citus cluster. If you repeat the command, it distributes only tables
that are not distributed yet.
`;

import type pg from 'pg';

/**
 * One token: a string, a quoted name, a text in dollar quotes, a comment, a semicolon, or other text. Only a semicolon token ends a
 * statement.
 */
const TOKEN = /'(?:[^']|'')*'|"[^"]*"|(\$\w*\$)[\s\S]*?\1|--[^\n]*|\/\*[\s\S]*?\*\/|;|[^'"$\-/;]+|[\s\S]/g;

/** Divides SQL into its statements. Comments remain. A part that contains only comments is left out. */
export function separateStatements(sql: string): string[] {
  const statements: string[] = [];
  let [statement, isEmpty] = ['', true];
  for (const [token] of `${sql};`.matchAll(TOKEN)) {
    if (token !== ';') {
      statement += token;
      isEmpty &&= /^(?:\s+|--.*|\/\*[\s\S]*)$/.test(token);
      continue;
    }
    if (!isEmpty) statements.push(statement.trim());
    [statement, isEmpty] = ['', true];
  }
  return statements;
}

/**
 * A client that sends each statement of a text on its own. Citus rejects a text of several statements if one of them changes a distributed
 * table. Only `query` with a text and without parameters differs from the given client.
 */
export function separatingClient(client: pg.Client): pg.Client {
  const query = async (text: unknown, values?: unknown[]): Promise<unknown> => {
    if (typeof text !== 'string' || values !== undefined) return client.query(text as string, values);
    let result: unknown;
    for (const statement of separateStatements(text)) result = await client.query(statement);
    return result;
  };
  return Object.create(client, { query: { value: query } });
}

import { resolve } from 'node:path';
import type { Config } from './config.ts';

/** What a person reads when the server is ready: where it is, and what to do next. `$KEY` stands in the line as it is to be typed. */
export function welcome({
  host,
  port,
  where,
  tls,
  config,
}: {
  host: string;
  port: number;
  where: string;
  tls: boolean;
  config: Config;
}): string {
  const base = `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const elsewhere = config.databaseUrl === undefined && config.dataDir === resolve('data') ? '' : ' (with the same environment)';
  return `
  Countersign is ready.
    address   ${base}        contract  ${base}/docs
    data      ${where}

  In another terminal, in this folder${elsewhere}:
    npx countersign-server workspace create --name acme
    KEY=$(npx countersign-server keys mint --workspace acme --name ci --scopes telemetry,evaluations,audit,governance)
    curl -s ${base}/api/public/governance/promotion-check -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d '{"agent_name":"support-bot"}'

  \`npm run demo\` tours the whole of it. Ctrl-C stops in order.

`;
}

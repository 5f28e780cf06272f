import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ERRORS } from '@countersign/core/contract/errors';
import { ISSUE_CODES } from '@countersign/core/contract/issue';
import { openApiDocument } from '@countersign/core/contract/openapi';
import { describe, expect, test } from 'vitest';
import { STATUS } from '../bad-input/rejections.ts';

const page = readFileSync(fileURLToPath(new URL('../../../../docs/errors.md', import.meta.url)), 'utf8');

/** The rows of the table under a heading, without the header of the table. */
function rowsUnder(heading: string): string[][] {
  const section = page.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  const lines = section.split('\n').filter((line) => line.startsWith('| '));
  return lines.slice(2).map((line) => line.slice(2, -2).split(' | '));
}

/** The errors that only the portal's API returns, written by hand, so that a change of ERRORS fails a test. */
const PORTAL_STATUS = {
  not_signed_in: 401,
  sign_in_failed: 401,
  forbidden: 403,
  cross_origin: 403,
  refused: 409,
  link_not_valid: 410,
};

describe('docs/errors.md', () => {
  test('lists every error code with status and condition, and no other code', () => {
    const documented = rowsUnder('Codes').map(([code, status, when]) => [code, Number(status), when]);
    const known = Object.entries(ERRORS).map(([code, { status, when }]) => [`\`${code}\``, status, when]);
    expect(documented.toSorted()).toEqual(known.toSorted());
  });

  test('lists every issue code with its meaning, and no other code', () => {
    const known = Object.entries(ISSUE_CODES).map(([code, meaning]) => [`\`${code}\``, meaning]);
    expect(rowsUnder('Codes of issues').toSorted()).toEqual(known.toSorted());
  });
});

describe('the table of errors', () => {
  test('matches STATUS and PORTAL_STATUS, which are written by hand, and has seven more codes', () => {
    const byHand = { ...STATUS, ...PORTAL_STATUS };
    for (const [code, status] of Object.entries(byHand))
      expect([code, ERRORS[code as keyof typeof ERRORS].status]).toEqual([code, status]);
    expect(Object.keys(ERRORS).filter((code) => !(code in byHand))).toEqual([
      'invalid_export',
      'internal_error',
      'log_rewritten',
      'seal_broken',
      'evidence_broken',
      'unavailable',
      'clock_unsafe',
    ]);
  });

  test('has unique conditions, codes in snake_case, and only 4xx and 5xx statuses', () => {
    for (const code of [...Object.keys(ERRORS), ...Object.keys(ISSUE_CODES)]) expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/);
    for (const { status } of Object.values(ERRORS)) expect(status >= 400 && status < 600).toBe(true);
    expect(new Set(Object.values(ERRORS).map(({ when }) => when)).size).toBe(Object.keys(ERRORS).length);
  });
});

describe('the OpenAPI document', () => {
  test('lists for each OTLP endpoint exactly the errors that the endpoint can return', () => {
    const paths = openApiDocument().paths as Record<string, { post?: { responses: object } }>;
    const neverListed = ['not_found', 'idempotency_key_reused', ...Object.keys(PORTAL_STATUS)];
    const codesOfStoring = ['log_rewritten', 'evidence_broken', 'seal_broken', 'clock_unsafe'];
    for (const path of ['/v1/traces', '/v1/logs', '/v1/metrics']) {
      const responsesText = JSON.stringify(paths[path]!.post!.responses);
      for (const [code, { when }] of Object.entries(ERRORS)) {
        const isListed = !neverListed.includes(code) && !(path === '/v1/metrics' && codesOfStoring.includes(code));
        expect([path, code, responsesText.includes(JSON.stringify(when).slice(1, -1))]).toEqual([path, code, isListed]);
      }
    }
  });

  test('lists for each POST endpoint, except the endpoints of OTLP, exactly the codes that the endpoint can return', () => {
    const paths = openApiDocument().paths as Record<string, { post?: { responses: object } }>;
    for (const [path, { post }] of Object.entries(paths)) {
      // The previous test covers the endpoints of OTLP.
      if (post === undefined || path.startsWith('/v1/')) continue;
      const responsesText = JSON.stringify(post.responses);
      for (const code of Object.keys(ERRORS)) {
        const isNeverReturned =
          code === 'not_found' ||
          code === 'invalid_export' ||
          code in PORTAL_STATUS ||
          (code === 'log_rewritten' && !/audit|promotion|trace|telemetry|evaluation/.test(path)) ||
          (code === 'evidence_broken' && !/trace|telemetry|evaluation/.test(path)) ||
          (code === 'seal_broken' && !responsesText.includes('Idempotent-Replayed') && !path.includes('promotion')) ||
          (code === 'idempotency_key_reused' && !responsesText.includes('Idempotent-Replayed'));
        expect([code, responsesText.includes(`\`${code}\``)]).toEqual([code, !isNeverReturned]);
      }
    }
  });
});

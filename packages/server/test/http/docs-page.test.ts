import { openApiDocument } from '@countersign/core/contract/openapi';
import { describe, expect, test } from 'vitest';
import { docsPage } from '../../src/http/docs-page.ts';

const page = docsPage(openApiDocument());

/** The text of a section without markup, on one line. */
function sectionText(id: string): string {
  const [, rest = ''] = page.split(`<section id="${id}">`);
  return rest
    .split('</section>', 1)[0]!
    .replace(/<[^>]+>/g, ' ')
    .replace(/\s+/g, ' ');
}

describe('the page /docs', () => {
  test('lists the request headers of an endpoint', () => {
    expect(sectionText('recordEvaluation')).toContain('Idempotency-Key string Makes retries safe');
    expect(sectionText('checkPromotion')).toContain('Countersign-Nonce string A new random value');
    expect(sectionText('checkPromotion')).not.toContain('Idempotency-Key string');
  });

  test('lists the response headers of an endpoint', () => {
    expect(sectionText('appendAuditEntry')).toContain('Countersign-Ledger-Seq integer');
    expect(sectionText('ingestTrace')).toContain('Countersign-Warning string');
    expect(sectionText('readAuditEntries')).toContain('X-Request-Id string');
  });

  test('says which members of a response can be null', () => {
    const decision = sectionText('schema-PromotionDecision');
    expect(decision).toContain('evaluation_age number or null required');
    expect(decision).toContain('threshold number required');
    expect(sectionText('schema-ConditionCheck')).toContain('reason string or null required');
  });

  test('does not list null as a type of optional members of requests, where null means that the member is absent', () => {
    expect(sectionText('schema-Trace')).not.toContain('or null');
  });

  test('lists the members of an object that has no schema of its own', () => {
    expect(sectionText('schema-PromotionDecision')).toContain('evaluation.pass_rate number or null Its pass rate');
  });
});

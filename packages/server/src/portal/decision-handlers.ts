import { type PromotionDecision, REASONS } from '@countersign/core/contract/promotion-check';
import { inReadTransaction } from '../database/transaction.ts';
import { LogRewrittenError } from '../ledger/log-tree.ts';
import { readDecision } from '../ledger/signed-decision.ts';
import { findListedDecision, listDecisions } from '../storage/portal/decisions.ts';
import { handlers, Reply } from './handler.ts';
import { pageOf, readCursor } from './page.ts';
import { idOf, rangeOf, requireFound } from './query.ts';
import { findSeqRange } from './seq-range.ts';

const JSON_FILE = 'application/json; charset=utf-8';

/** Promotion decisions, with the data for verifying them. */
export const decisionHandlers = handlers({
  'decisions.list': async ({ workspace, query, parts }) => {
    const after = readCursor(query.cursor, ['wholeNumber']);
    const { allowed, reason } = query;
    const reasons = REASONS.filter(
      (each) =>
        (reason === undefined || each === reason) &&
        (allowed === undefined || (each === 'all_conditions_met') === (allowed === 'true')),
    );
    return inReadTransaction(parts.readPool, workspace, async (tx) => {
      const range = await findSeqRange(tx, 'decisions', rangeOf(query), after);
      const filter = { ...range, reasons, agentId: idOf(query.agent_id), evaluationId: idOf(query.evaluation_id) };
      return pageOf(
        query,
        (limit) => listDecisions(tx, filter, limit),
        ({ seq }) => [seq],
      );
    });
  },

  'decisions.read': async ({ workspace, params, parts }) => {
    const { document, ...listed } = requireFound(
      await inReadTransaction(parts.readPool, workspace, (tx) => findListedDecision(tx, params.decision)),
    );
    const result = requireFound(await parts.reader.attestationResult(workspace, params.decision));
    const parsed = readDecision(document);
    if ('fault' in parsed) throw new LogRewrittenError(`the decision ${params.decision}: ${parsed.fault}`);
    return {
      ...listed,
      decision: parsed.decision as unknown as PromotionDecision,
      document,
      attestation: 'fault' in result ? null : result.envelope,
      altered: 'fault' in result ? result.fault : null,
    };
  },

  'decisions.document': async ({ workspace, params, parts }) =>
    Reply.file(
      requireFound(await parts.reader.decision(workspace, params.decision)),
      JSON_FILE,
      `decision-${params.decision}.json`,
    ),

  'decisions.evidence': async ({ workspace, params, parts }) =>
    Reply.file(
      requireFound(await parts.reader.evidence(workspace, params.decision)),
      JSON_FILE,
      `evidence-${params.decision}.json`,
    ),

  'decisions.attestation': async ({ workspace, params, parts }) => {
    const envelope = requireFound(await parts.reader.attestation(workspace, params.decision));
    return Reply.file(JSON.stringify(envelope), JSON_FILE, `attestation-${params.decision}.json`);
  },
});

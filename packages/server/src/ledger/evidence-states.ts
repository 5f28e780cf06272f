import { checkEvidenceEvent, EVIDENCE_DOMAIN, type EvidenceEvent } from '@countersign/core/domain/evidence-event';
import { EvidenceState } from '@countersign/core/domain/evidence-state';
import { readEvidenceEvents } from '../storage/evidence-events.ts';
import { LogFold } from './log-fold.ts';

/** The states of the evidence logs. Promotion checks are decided from them. */
export const evidenceStates = new LogFold<EvidenceEvent, EvidenceState>({
  log: 'evidence',
  domain: EVIDENCE_DOMAIN,
  read: readEvidenceEvents,
  parse: checkEvidenceEvent,
  create: () => new EvidenceState(),
  weight: ({ agentCount, evaluationCount }) => agentCount + evaluationCount,
  weightMax: 600_000,
});

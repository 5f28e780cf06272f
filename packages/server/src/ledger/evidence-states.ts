import { checkEvidenceEvent, EVIDENCE_DOMAIN, type EvidenceEvent } from '@countersign/core/domain/evidence-event';
import { EvidenceState } from '@countersign/core/domain/evidence-state';
import { readEvidenceEvents } from '../storage/evidence-events.ts';
import { LogFold } from './log-fold.ts';

/** What the events of the log `evidence` add up to: what promotion checks are decided on. */
export const evidenceStates = new LogFold<EvidenceEvent, EvidenceState>({
  log: 'evidence',
  domain: EVIDENCE_DOMAIN,
  read: readEvidenceEvents,
  parse: checkEvidenceEvent,
  create: () => new EvidenceState(),
  weight: ({ agentCount }) => agentCount,
  weightMax: 200_000,
});

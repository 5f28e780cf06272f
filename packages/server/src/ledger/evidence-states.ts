import { EVIDENCE_DOMAIN, type EvidenceEvent, readEvidenceEvent } from '@countersign/core/domain/evidence-event';
import { EvidenceState } from '@countersign/core/domain/evidence-state';
import { digests } from '../digests.ts';
import { readEvidenceEvents } from '../storage/evidence-events.ts';
import { LogFold } from './log-fold.ts';

/** What the events of the log `evidence` add up to: what promotion checks are decided on. */
export const evidenceStates = new LogFold<EvidenceEvent, EvidenceState>({
  log: 'evidence',
  domain: EVIDENCE_DOMAIN,
  read: readEvidenceEvents,
  parse: (value, place) => readEvidenceEvent(value, place, digests),
  create: () => new EvidenceState(),
  weight: ({ agentCount }) => agentCount,
  weightMax: 200_000,
});

import type { Envelope } from '@countersign/core/domain/attestation';
import type { PromotionDecision } from '../index.ts';
import type { GateRequest } from './check-decision.ts';
import type { Ending } from './exit-codes.ts';

/** The result of requesting a decision. */
export interface Finding {
  ending: Ending;
  /** The decision, if one was received and accepted. */
  decision: PromotionDecision | undefined;
  /** The original text of the decision. */
  text: string | undefined;
  /** The attestation of the decision, if it is to be written to a file. */
  attestation: Envelope | undefined;
  /** The key that verified the signature of the decision; undefined if no signature was verified. */
  verifiedBy: string | undefined;
  /** The Countersign-Checkpoint header of the response. */
  checkpoint: string | undefined;
  /** Why there is no decision; undefined if there is one. */
  fault: string | undefined;
  /** Whether a later request may succeed: the service was unavailable, busy or unreachable. */
  isTransient: boolean;
  /** The ID of the workspace that decided; undefined if the service does not report it. */
  workspace: string | undefined;
}

/** The options of a report. */
export interface ReportContext {
  request: GateRequest;
  portalUrl: string;
  /** The path of each file to write; undefined if the file was not requested. */
  output: string | undefined;
  attestation: string | undefined;
  junit: string | undefined;
}

/** The values of a finding that every output shows. */
export interface GateSummary {
  outcome: 'allowed' | 'blocked' | 'pending' | 'undecided';
  exitCode: number;
  agent: string;
  reason: string;
  message: string;
  /** The address for the approval; undefined unless only the approval is missing. */
  approveAt: string | undefined;
}

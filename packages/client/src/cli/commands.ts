import { auditAppend } from './audit-append.ts';
import type { Command } from './command.ts';
import { doctor } from './doctor.ts';
import { evaluateRecord } from './evaluate-record.ts';
import { gate } from './gate.ts';
import { traceSend } from './trace-send.ts';
import { verifyDecision } from './verify-decision.ts';
import { verifyLedger } from './verify-ledger.ts';

/** Every command, in the order of the help. */
export const COMMANDS: readonly Command[] = [gate, evaluateRecord, auditAppend, traceSend, verifyDecision, verifyLedger, doctor];

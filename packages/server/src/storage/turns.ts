import { sql, type Transaction } from '../database/transaction.ts';

const HOLD = sql('hold_turn', 'SELECT pg_advisory_xact_lock($1::integer, $2::integer)');
const AWAIT = sql('await_turn', 'SELECT pg_advisory_xact_lock_shared($1::integer, $2::integer)');

/**
 * Takes a numbered turn of the tenant until the transaction ends. The order that turns give is no guarantee, only a means against
 * needless failures: two tenants may share a number, and a turn that nobody holds is not waited for.
 */
export const holdTurn = (tx: Transaction, turn: number): void => tx.send(HOLD, [groupOf(tx), turn | 0]);

/** Waits for the end of the transaction that holds a turn, if one does. */
export const awaitTurn = (tx: Transaction, turn: number): void => tx.send(AWAIT, [groupOf(tx), turn | 0]);

const groupOf = ({ tenantId }: Transaction): number => Number.parseInt(tenantId.slice(-8), 16) | 0;

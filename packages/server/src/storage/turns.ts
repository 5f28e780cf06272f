import { sql, type Transaction } from '../database/transaction.ts';

const TAKE = sql('hold_turn', 'SELECT pg_advisory_xact_lock($1::integer, $2::integer)');
const AWAIT = sql('await_turn', 'SELECT pg_advisory_xact_lock_shared($1::integer, $2::integer)');

/**
 * Takes a numbered turn of the tenant and keeps it until the transaction ends. A turn is an advisory lock. Turns avoid wrong guesses of a
 * head (ledger/trace-log.ts), but do not guarantee an order: two tenants may share a lock, and `awaitTurn` does not wait for a turn that no
 * transaction has taken yet.
 */
export const takeTurn = (tx: Transaction, turn: number): void => tx.send(TAKE, [groupOf(tx), turn | 0]);

/** Makes the statements after this one wait for the end of the transaction that has taken this turn, if there is one. */
export const awaitTurn = (tx: Transaction, turn: number): void => tx.send(AWAIT, [groupOf(tx), turn | 0]);

const groupOf = ({ tenantId }: Transaction): number => Number.parseInt(tenantId.slice(-8), 16) | 0;

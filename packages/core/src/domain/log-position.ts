/** The next position in a log of events. */
export interface LogPosition {
  /** The number that the next event must have. */
  seq: number;
  /** The log's tenant; undefined if the first event determines it. */
  tenantId: string | undefined;
}

/** Returns why an event cannot be at this position; undefined if it can. */
export function positionFault(event: { tenant_id: string; seq: number }, { seq, tenantId }: LogPosition): string | undefined {
  if (tenantId !== undefined && event.tenant_id !== tenantId)
    return `tenant_id is not ${tenantId}: the event belongs to another tenant`;
  if (event.seq !== seq) return `seq is ${event.seq}, expected ${seq}: an event is missing, repeated or moved`;
  return undefined;
}

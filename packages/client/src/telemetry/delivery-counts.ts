/** Counts of events by outcome. */
export interface TelemetryStats {
  /** Queued or being sent. */
  queued: number;
  /** Stored by the service. */
  sent: number;
  /** Rejected by the service and set aside. */
  rejected: number;
  /** Lost: no room, not JSON, emitted after `close()`, or not sent in time. */
  dropped: number;
}

/** Counts events from emission to outcome. */
export class DeliveryCounts {
  /** Accepted into the queue. */
  accepted = 0;
  /** Moved from the queue into requests. */
  taken = 0;
  sent = 0;
  rejected = 0;
  /** Accepted, but dropped later. */
  abandoned = 0;
  /** Never accepted. */
  notAccepted = 0;

  /** Accepted events whose outcome is known. */
  get settled(): number {
    return this.sent + this.rejected + this.abandoned;
  }

  get stats(): TelemetryStats {
    const { accepted, settled, sent, rejected, abandoned, notAccepted } = this;
    return { queued: accepted - settled, sent, rejected, dropped: abandoned + notAccepted };
  }
}

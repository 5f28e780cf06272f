/** Counts of events or runs by outcome. */
export interface TelemetryStats {
  /** Queued or being sent. */
  queued: number;
  /** Stored by the service. */
  sent: number;
  /** Rejected by the service and not sent again. */
  rejected: number;
  /** Lost for one of the reasons in `DropReason`. */
  dropped: number;
}

/** Counts events or runs from acceptance to outcome. */
export class DeliveryCounts {
  /** Accepted into the queue. */
  accepted = 0;
  /** Events that were moved from the queue into requests. */
  taken = 0;
  sent = 0;
  rejected = 0;
  /** Accepted, but dropped later. */
  abandoned = 0;
  /** Never accepted. */
  notAccepted = 0;

  /** The number of accepted events or runs that have an outcome. */
  get settled(): number {
    return this.sent + this.rejected + this.abandoned;
  }

  get stats(): TelemetryStats {
    const { accepted, settled, sent, rejected, abandoned, notAccepted } = this;
    return { queued: accepted - settled, sent, rejected, dropped: abandoned + notAccepted };
  }
}

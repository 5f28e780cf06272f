/** What has become of the events so far. */
export interface TelemetryStats {
  /** Wait, or are on their way. */
  queued: number;
  /** Stored by the service. */
  sent: number;
  /** Refused by the service for what they are, and set aside. */
  rejected: number;
  /** Lost: no room, no JSON, emitted after the end, given up. */
  dropped: number;
}

/** Counts events from the moment they are emitted to what becomes of them. */
export class DeliveryCounts {
  /** Taken into the queue. */
  accepted = 0;
  /** Taken out of the queue, into requests. */
  taken = 0;
  sent = 0;
  rejected = 0;
  /** Accepted, and given up later. */
  givenUp = 0;
  /** Never accepted. */
  turnedAway = 0;

  /** Events that are done with, of those that were accepted. */
  get settled(): number {
    return this.sent + this.rejected + this.givenUp;
  }

  get stats(): TelemetryStats {
    const { accepted, settled, sent, rejected, givenUp, turnedAway } = this;
    return { queued: accepted - settled, sent, rejected, dropped: givenUp + turnedAway };
  }
}

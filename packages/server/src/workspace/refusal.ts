/** An act that the rules or the state of the workspace refuse. The message names the remedy, for a person. */
export class Refusal extends Error {
  override name = 'Refusal';
}

/** Refused because what the act is about is not there, or is another workspace's, which is the same. */
export class NotThere extends Refusal {
  override name = 'NotThere';
}

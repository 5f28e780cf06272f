/** An act that the rules or the state of the workspace refuse. The message names the remedy, for a person. */
export class Refusal extends Error {
  override name = 'Refusal';
}

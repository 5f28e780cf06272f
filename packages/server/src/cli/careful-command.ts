import { Command, type ParseOptionsResult } from 'commander';
import { collected } from './kept.ts';

/**
 * A command that refuses what commander lets pass: an option that is misspelt hides behind the required one that is missing then, and
 * of a single option that is given twice the first value would be dropped without a word.
 */
export class CarefulCommand extends Command {
  override createCommand(name?: string): CarefulCommand {
    return new CarefulCommand(name);
  }

  override parseOptions(args: string[]): ParseOptionsResult {
    const parsed = super.parseOptions(args);
    if (this.commands.length > 0 || parsed.unknown.some((arg) => arg === '--help' || arg === '-h')) return parsed;
    const [unknown] = parsed.unknown;
    // Commander's own, which knows what was meant; its types do not show it.
    if (unknown !== undefined) (this as unknown as { unknownOption(flag: string): void }).unknownOption(unknown);
    const twice = this.#givenTwice(args);
    if (twice !== undefined) this.error(`option '${twice}' is given twice`);
    return parsed;
  }

  /** The first option with one value that is given two. */
  #givenTwice(args: readonly string[]): string | undefined {
    const seen = new Set<string>();
    for (let at = 0; at < args.length && args[at] !== '--'; at += 1) {
      const [name = '', value] = args[at]!.split('=', 2);
      const option = this.options.find(({ long, required }) => required && long === name);
      if (option === undefined) continue;
      if (seen.has(name) && option.parseArg !== collected) return name;
      seen.add(name);
      if (value === undefined) at += 1; // the next one is its value, whatever it looks like
    }
    return undefined;
  }
}

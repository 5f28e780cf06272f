import { Command, type ParseOptionsResult } from 'commander';
import { collectValues } from './verification-options.ts';

/**
 * A stricter command than commander's. It reports a misspelled option before a missing required one. It rejects an option that takes one
 * value and is given twice; commander would use only the last value.
 */
export class StrictCommand extends Command {
  override createCommand(name?: string): StrictCommand {
    return new StrictCommand(name);
  }

  override parseOptions(args: string[]): ParseOptionsResult {
    const parsed = super.parseOptions(args);
    if (this.commands.length > 0 || parsed.unknown.some((arg) => arg === '--help' || arg === '-h')) return parsed;
    const [unknown] = parsed.unknown;
    // Commander's own method, which suggests the right option; its types do not declare it.
    if (unknown !== undefined) (this as unknown as { unknownOption(flag: string): void }).unknownOption(unknown);
    const repeatedName = this.#repeatedOption(args);
    if (repeatedName !== undefined) this.error(`option '${repeatedName}' is given twice`);
    return parsed;
  }

  /** The first option that is given twice although it takes one value. */
  #repeatedOption(args: readonly string[]): string | undefined {
    const givenNames = new Set<string>();
    for (let index = 0; index < args.length && args[index] !== '--'; index += 1) {
      const [name = '', value] = args[index]!.split('=', 2);
      const option = this.options.find(({ long, required }) => required && long === name);
      if (option === undefined) continue;
      if (givenNames.has(name) && option.parseArg !== collectValues) return name;
      givenNames.add(name);
      if (value === undefined) index += 1; // The next argument is its value, whatever it looks like.
    }
    return undefined;
  }
}

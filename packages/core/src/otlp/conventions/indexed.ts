import type { Attributes, Value } from '../records.ts';

/** A tree of dotted names. Numbers stay names; `items` sorts them. */
export type Tree = Map<string, Tree | Value>;

/** Maximum depth of a dotted name. */
const STEPS_MAX = 12;

/** Attributes as a tree, and their names. */
interface Subtree {
  tree: Tree;
  names: readonly string[];
}

/** The result for most spans. */
const EMPTY: Subtree = { tree: new Map(), names: [] };

/** The attributes whose names begin with a prefix and a dot, as a tree by the rest of their names, and the names that are in it. */
export function subtree(attributes: Attributes, prefix: string): Subtree {
  for (const name of attributes.keys()) if (name.startsWith(prefix)) return readSubtree(attributes, prefix);
  return EMPTY;
}

function readSubtree(attributes: Attributes, prefix: string): Subtree {
  const tree: Tree = new Map();
  const names: string[] = [];
  for (const [name, value] of attributes) {
    if (!name.startsWith(prefix) || name[prefix.length] !== '.') continue;
    const steps = name.slice(prefix.length + 1).split('.', STEPS_MAX);
    let branch = tree;
    for (const step of steps.slice(0, -1)) {
      const next = branch.get(step);
      const inner: Tree = next instanceof Map ? next : new Map();
      if (inner !== next) branch.set(step, inner);
      branch = inner;
    }
    branch.set(steps.at(-1)!, value);
    names.push(name);
  }
  return { tree, names };
}

/** The numbered members of a tree in the order of their numbers. */
export function items(tree: Tree | Value | undefined): Tree[] {
  if (!(tree instanceof Map)) return [];
  return [...tree]
    .filter((entry): entry is [string, Tree] => /^\d{1,6}$/.test(entry[0]) && entry[1] instanceof Map)
    .sort(([left], [right]) => Number(left) - Number(right))
    .map(([, each]) => each);
}

/** The subtree at a dotted path, if there is one. */
export function branch(tree: Tree, ...path: string[]): Tree | undefined {
  let at: Tree | Value | undefined = tree;
  for (const step of path) at = at instanceof Map ? at.get(step) : undefined;
  return at instanceof Map ? at : undefined;
}

/** The value at a dotted path, if it is not a subtree. */
export function leaf(tree: Tree | undefined, ...path: string[]): Value | undefined {
  let at: Tree | Value | undefined = tree;
  for (const step of path) at = at instanceof Map ? at.get(step) : undefined;
  return at instanceof Map ? undefined : at;
}

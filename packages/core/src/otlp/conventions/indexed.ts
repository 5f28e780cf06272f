import type { Attributes, Value } from '../records.ts';

/** Values by dotted name, as a tree with a level for each segment. Segments that are numbers stay text; `items` sorts them as numbers. */
export type Tree = Map<string, Tree | Value>;

/** The maximum number of segments of a name after the prefix. Further segments are dropped. */
const SEGMENTS_MAX = 12;

/** Attributes as a tree, with their names. */
interface Subtree {
  tree: Tree;
  names: readonly string[];
}

/** The result if no attribute has the prefix, as in most spans. */
const EMPTY: Subtree = { tree: new Map(), names: [] };

/** The attributes whose names begin with a prefix and a dot, as a tree by the rest of their names. */
export function subtree(attributes: Attributes, prefix: string): Subtree {
  for (const name of attributes.keys()) if (name.startsWith(prefix)) return readSubtree(attributes, prefix);
  return EMPTY;
}

function readSubtree(attributes: Attributes, prefix: string): Subtree {
  const tree: Tree = new Map();
  const names: string[] = [];
  for (const [name, value] of attributes) {
    if (!name.startsWith(prefix) || name[prefix.length] !== '.') continue;
    const segments = name.slice(prefix.length + 1).split('.', SEGMENTS_MAX);
    let parent = tree;
    for (const segment of segments.slice(0, -1)) {
      const next = parent.get(segment);
      const child: Tree = next instanceof Map ? next : new Map();
      if (child !== next) parent.set(segment, child);
      parent = child;
    }
    parent.set(segments.at(-1)!, value);
    names.push(name);
  }
  return { tree, names };
}

/** The subtrees whose names are numbers of up to six digits, in the order of the numbers. */
export function items(tree: Tree | Value | undefined): Tree[] {
  if (!(tree instanceof Map)) return [];
  return [...tree]
    .filter((entry): entry is [string, Tree] => /^\d{1,6}$/.test(entry[0]) && entry[1] instanceof Map)
    .sort(([left], [right]) => Number(left) - Number(right))
    .map(([, each]) => each);
}

/** The subtree at a path; undefined if there is none. */
export function branch(tree: Tree, ...path: string[]): Tree | undefined {
  let node: Tree | Value | undefined = tree;
  for (const segment of path) node = node instanceof Map ? node.get(segment) : undefined;
  return node instanceof Map ? node : undefined;
}

/** The value at a path; undefined if there is none, or if there is a subtree. */
export function leaf(tree: Tree | undefined, ...path: string[]): Value | undefined {
  let node: Tree | Value | undefined = tree;
  for (const segment of path) node = node instanceof Map ? node.get(segment) : undefined;
  return node instanceof Map ? undefined : node;
}

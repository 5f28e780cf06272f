/** Any JSON object of the document. */
type Node = Record<string, unknown>;

/** Returns a reference to a named schema, and adds the schema to the components. For an unnamed schema it returns a copy. */
export function referTo(schema: object, components: Map<string, Node>): Node {
  const { $id, ...rest } = readableSchema(schema as Node);
  if (typeof $id !== 'string') return copyNode(rest, components);
  if (!components.has($id)) {
    components.set($id, {});
    components.set($id, copyNode(rest, components));
  }
  return { $ref: `#/components/schemas/${$id}` };
}

/** The formats of numbers. Without them, generators of clients use 32 bits, which cannot represent every count, rate and cost exactly. */
const NUMBER_FORMATS = new Map<unknown, string>([
  ['integer', 'int64'],
  ['number', 'double'],
]);

/**
 * Returns a schema in a form that all readers of the document understand:
 * - The validator's own formats become patterns.
 * - The copy of a named schema becomes an `anyOf` of that schema and null.
 * - A list of types becomes an `anyOf` if it has two or more types besides null.
 * - Numbers get a format, and lists of any values get `items`.
 */
function readableSchema(schema: Node): Node {
  const { 'x-schema': namedSchema, description } = schema;
  if (namedSchema !== undefined) return { anyOf: [namedSchema, { type: 'null' }], description };
  const { type, ...untyped } = schema;
  const [first, second] = [type].flat().filter((each) => each !== 'null');
  if (second !== undefined) return { ...untyped, anyOf: (type as string[]).map((each) => ({ type: each })) };
  const numberFormat = NUMBER_FORMATS.get(first);
  if (numberFormat !== undefined) return { ...schema, format: numberFormat };
  if (first === 'array' && schema.items === undefined) return { ...schema, items: {} };
  const { 'x-pattern': pattern, format: _, ...rest } = schema;
  return pattern === undefined ? schema : { ...rest, pattern };
}

function copyNode(node: Node, components: Map<string, Node>): Node {
  const copy = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(copy);
    return typeof value === 'object' && value !== null ? referTo(value, components) : value;
  };
  return Object.fromEntries(Object.entries(node).map(([name, value]) => [name, copy(value)]));
}

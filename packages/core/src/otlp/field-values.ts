import { FIELD_CONVERSIONS } from './accepted-values.ts';
import { RULES } from './conventions/all.ts';
import type { Field, SpanKind } from './conventions/convention.ts';
import { fromJson, fromJsonOrString } from './conventions/json-text.ts';
import { isObject } from './conventions/messages.ts';
import type { Attributes, Value } from './records.ts';

/**
 * The first value that a field accepts, and the name of its attribute. For a rule with members, the name is `<attribute>.<member>`. Without
 * `kind`, rules that require a kind are skipped.
 */
export function valueOfField(field: Field, attributes: Attributes, kind?: SpanKind): { name: string; value: Value } | undefined {
  for (const rule of RULES.get(field) ?? []) {
    if (rule.kinds !== undefined && (kind === undefined || !rule.kinds.includes(kind))) continue;
    for (const name of rule.from) {
      if (rule.members !== undefined) {
        const member = acceptedMember(field, attributes.get(name), rule.members);
        if (member !== undefined) return { name: `${name}.${member.name}`, value: member.value };
        continue;
      }
      const value = FIELD_CONVERSIONS[field](attributes.get(name));
      if (value !== undefined) return { name, value: rule.isJson ? fromJsonOrString(value) : value };
    }
  }
  return undefined;
}

function acceptedMember(field: Field, object: Value | undefined, names: readonly string[]) {
  const members = fromJson(object ?? null);
  if (!isObject(members)) return undefined;
  for (const name of names) {
    const value = FIELD_CONVERSIONS[field](members[name]);
    if (value !== undefined) return { name, value };
  }
  return undefined;
}

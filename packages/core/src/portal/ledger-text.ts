import { Type } from 'typebox';
import { type FieldNotes, TEXT_LENGTH_MAX } from '../contract/scalars.ts';

/**
 * Text from a person that is hashed into the ledger: not blank, at most 65,536 code points. Half of a surrogate pair is rejected, because
 * it has no UTF-8 form to hash. U+0000 is rejected, because PostgreSQL's text type cannot store it.
 */
export const ledgerText = (notes: FieldNotes) =>
  Type.Unsafe<string>({
    type: 'string',
    minLength: 1,
    maxLength: TEXT_LENGTH_MAX,
    pattern: '^(?=[^]*\\S)[^\\u0000\\ud800-\\udfff]*$',
    'x-means': 'not be blank, and not contain U+0000 or half of a surrogate pair',
    ...notes,
  });

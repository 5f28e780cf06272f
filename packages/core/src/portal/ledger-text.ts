import { Type } from 'typebox';
import { type FieldNotes, TEXT_LENGTH_MAX } from '../contract/scalars.ts';

/**
 * Text from a person that is hashed into the ledger: not blank, at most 65,536 code points. Half a surrogate pair has no UTF-8 form to
 * hash, and PostgreSQL's text cannot store U+0000.
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

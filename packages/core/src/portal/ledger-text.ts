import { Type } from 'typebox';
import { type FieldNotes, TEXT_LENGTH_MAX } from '../contract/scalars.ts';

/**
 * Free text of a person that goes under the ledger's hash: something said, in at most 65,536 code points. Half a surrogate pair has no
 * bytes to hash, and U+0000 no place in PostgreSQL's text.
 */
export const ledgerText = (notes: FieldNotes) =>
  Type.Unsafe<string>({
    type: 'string',
    minLength: 1,
    maxLength: TEXT_LENGTH_MAX,
    pattern: '^(?=[^]*\\S)[^\\u0000\\ud800-\\udfff]*$',
    'x-means': 'say something, and hold neither U+0000 nor half a surrogate pair',
    ...notes,
  });

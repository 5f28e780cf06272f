import { paths } from '../harness/test-server.ts';
import { GOOD, type RejectedRequest } from './rejections.ts';

const trace = (what: string, members: object, issues: readonly string[], messagePattern?: string | RegExp): RejectedRequest => ({
  what,
  path: paths.traces,
  body: { ...GOOD.trace, ...members },
  issues,
  ...(messagePattern === undefined ? {} : { messagePattern }),
});
const entry = (what: string, members: object, issues: readonly string[], messagePattern?: string | RegExp): RejectedRequest => ({
  ...trace(what, {}, issues, messagePattern),
  path: paths.audit,
  body: { ...GOOD.entry, ...members },
});

/** Characters that identifiers and labels must not contain. */
export const BAD_CHARACTERS: RejectedRequest[] = [
  ...['\u0000', '\u0001', '\t', '\r', '\u001b', '\u001f', '\u007f', '\u0080', '\u0085', '\u009f'].map((character) =>
    trace(`U+${character.charCodeAt(0).toString(16).padStart(4, '0')}`, { trace_id: `a${character}b` }, [
      '/trace_id bad_characters',
    ]),
  ),
  trace('a high surrogate alone', { session_id: 'a\ud83d' }, ['/session_id bad_characters']),
  trace('a low surrogate alone', { session_id: '\ude00b' }, ['/session_id bad_characters']),
  trace('reversed surrogates', { agent_name: '\ude00\ud83d' }, ['/agent_name bad_characters']),
  entry('half a surrogate pair in an actor, a label that is also hashed: reports both issues', { actor: 'ci\ud83d' }, [
    '/actor bad_characters',
    '/actor lone_surrogate',
  ]),
  trace('a control character in a text that is too long', { trace_id: `\n${'x'.repeat(512)}` }, [
    '/trace_id too_long',
    '/trace_id bad_characters',
  ]),
];

/** Texts that are too long, some by one code point. An astral character counts as one code point. */
export const TOO_LONG: RejectedRequest[] = [
  trace('513 astral characters in a label', { trace_id: '\u{1F600}'.repeat(513) }, ['/trace_id too_long'], 'got 513'),
  trace('65,537 astral characters in a text', { detail: '\u{1F600}'.repeat(65_537) }, ['/detail too_long'], 'got 65537'),
  trace('65,537 NUL characters in a text', { error: '\u0000'.repeat(65_537) }, ['/error too_long']),
  entry('65,537 astral characters in a rationale', { rationale: '\u{10FFFF}'.repeat(65_537) }, ['/rationale too_long']),
  trace('a megabyte in a user identifier', { external_user_id: 'a'.repeat(1_000_000) }, ['/external_user_id too_long']),
  trace('19 MB of digits in a user identifier', { external_user_id: `+${'1'.repeat(19_000_000)}` }, [
    '/external_user_id too_long',
  ]),
  trace('a megabyte in a member with a list of choices', { outcome: 'success'.repeat(150_000) }, ['/outcome not_one_of']),
  trace('a megabyte in a date-time', { started_at: '2026'.repeat(250_000) }, ['/started_at bad_format']),
];

/** Date-times that do not exist, or that are not in the part of RFC 3339 that the contract allows. */
export const INVALID_DATE_TIMES: RejectedRequest[] = [
  ['29 February of a common year', '2025-02-29T00:00:00Z'],
  ['29 February 1900', '1900-02-29T00:00:00Z'],
  ['month 0', '2026-00-10T00:00:00Z'],
  ['month 13', '2026-13-01T00:00:00Z'],
  ['day 0', '2026-01-00T00:00:00Z'],
  ['31 April', '2026-04-31T00:00:00Z'],
  ['24:00:00', '2026-01-01T24:00:00Z'],
  ['minute 60', '2026-01-01T23:60:00Z'],
  ['second 60 at noon', '2026-01-01T12:00:60Z'],
  ['second 60 at the end of the day in another time zone', '2026-01-01T23:59:60+01:00'],
  ['before the year 1', '0000-12-31T23:59:59Z'],
  ['before the year 1 in UTC', '0001-01-01T00:00:00+00:01'],
  ['after the year 9999 in UTC', '9999-12-31T23:59:59-00:01'],
  ['a leap second after the year 9999', '9999-12-31T23:59:60Z'],
  ['second 61', '2026-12-31T23:59:61Z'],
  ['a space instead of the T', '2026-01-01 00:00:00Z'],
  ['no T', '2026-01-0100:00:00Z'],
  ['no seconds', '2026-01-01T00:00Z'],
  ['a point without digits', '2026-01-01T00:00:00.Z'],
  ['ten fraction digits', '2026-01-01T00:00:00.0123456789Z'],
  ['a comma instead of the point', '2026-01-01T00:00:00,5Z'],
  ['an offset of 24 hours', '2026-01-01T00:00:00+24:00'],
  ['an offset of 60 minutes', '2026-01-01T00:00:00+01:60'],
  ['an offset without a colon', '2026-01-01T00:00:00+0100'],
  ['an offset of hours alone', '2026-01-01T00:00:00+01'],
  ['two offsets', '2026-01-01T00:00:00Z+01:00'],
  ['a Unicode minus sign in the offset', '2026-01-01T00:00:00\u221201:00'],
  ['the basic form', '20260101T000000Z'],
  ['a year of two digits', '26-01-01T00:00:00Z'],
  ['a signed year', '+002026-01-01T00:00:00Z'],
  ['a week date', '2026-W01-1T00:00:00Z'],
  ['a leading space', ' 2026-01-01T00:00:00Z'],
  ['a trailing line break', '2026-01-01T00:00:00Z\n'],
  ['digits of another script', '\u0662\u0660\u0662\u0666-01-01T00:00:00Z'],
  ['a mail date', 'Thu, 01 Jan 2026 00:00:00 GMT'],
].map(([what, value]) => trace(what!, { ended_at: value }, ['/ended_at bad_format']));

/** Retention dates that do not exist or have another format. */
export const INVALID_DATES: RejectedRequest[] = [
  ['31 November', '2026-11-31'],
  ['29 February 2100', '2100-02-29'],
  ['slashes', '2026/11/20'],
  ['no hyphens', '20261120'],
  ['the day first', '20-11-2026'],
  ['a word', 'forever'],
  ['a trailing line break', '2026-11-20\n'],
].map(([what, value]) => entry(what!, { retention_until: value }, ['/retention_until bad_format']));

const ID = '0198f1c2-7d3e-7a41-9b1e-3f2a5c6d7e8f';
/** Texts that resemble a UUID but are not in the plain format. */
export const INVALID_UUIDS: RejectedRequest[] = [
  ['in braces', `{${ID}}`],
  ['as a URN', `urn:uuid:${ID}`],
  ['one digit short', ID.slice(0, -1)],
  ['one digit too many', `${ID}0`],
  ['a letter beyond f', ID.replace(/f$/, 'g')],
  ['hyphens elsewhere', '0198f1c27-d3e-7a41-9b1e-3f2a5c6d7e8f'],
  ['a trailing line break', `${ID}\n`],
  ['a leading space', ` ${ID}`],
  ['underscores', ID.replaceAll('-', '_')],
].map(([what, value]) => ({
  what: what!,
  path: paths.promotionCheck,
  body: { agent_id: value },
  issues: ['/agent_id bad_format'],
}));

/** User identifiers that contain personal data. */
export const PERSONAL_DATA: RejectedRequest[] = [
  'ann@example.com',
  'Ann Smith <ann@example.com>',
  'mailto:ann@example.com?subject=x',
  'tenant-7/ann.smith+tag@mail.example.co.uk',
  '\u00e4nn@b\u00fccher.example',
  '+49 30 1234567',
  '+1 (555) 010-9999',
  '+4915112345678',
  ' +44.20.7946.0000 ',
  '+49 170 1234567;ext=5',
  '+1 (202) 555-0143 ext. 5',
  '+1 202 555 0143 x5',
  '+1 202 555 0143, Extension 5',
  'tel:+1-202-555-0143;isub=12',
  '\uff0b\uff14\uff19 \uff11\uff17\uff10 \uff11\uff12\uff13\uff14\uff15\uff16\uff17',
  '+49 170\u20131234567',
  'ada\uff20example.com',
  'ada@example\uff0ecom',
].map((value, index) => ({
  what: value,
  path: index % 2 === 0 ? paths.traces : paths.telemetry,
  body: { ...(index % 2 === 0 ? GOOD.trace : GOOD.event), external_user_id: value },
  issues: ['/external_user_id personal_data'],
}));

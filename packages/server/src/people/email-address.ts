/** What is surely an address: one @ with something before it and a domain behind it, no spaces. Whether it exists, mail alone can tell. */
const FORM = /^[^\s@<>"(),:;[\]\\]{1,64}@[^\s@<>"(),:;[\]\\]+\.[^\s@<>"(),:;[\]\\.]+$/;

/** Longest address that mail can be sent to, in characters (RFC 5321). */
const LENGTH_MAX = 254;

/** Whether a text, blanks around it aside, is an e-mail address. */
export const isEmailAddress = (text: string): boolean =>
  text.length <= 2 * LENGTH_MAX && text.isWellFormed() && text.trim().length <= LENGTH_MAX && FORM.test(text.trim());

/** An e-mail address in the form in which accounts are compared: without regard to case, or to how its characters are composed. */
export const comparedEmail = (email: string): string => email.trim().normalize('NFC').toLowerCase();

/** Whether a text is an http or https URL without credentials. The portal shows it as a link, so other schemes are rejected. */
export function isWebAddress(text: string): boolean {
  if (!/^https?:\/\/[^\s\p{Cc}\\]+$/iu.test(text) || !text.isWellFormed()) return false;
  const url = URL.parse(text);
  return url !== null && (url.protocol === 'http:' || url.protocol === 'https:') && url.username === '' && url.password === '';
}

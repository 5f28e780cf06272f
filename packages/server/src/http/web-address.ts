/** Whether a text is an http or https address of a page. It is shown as a link, so other schemes and credentials are rejected. */
export function isWebAddress(text: string): boolean {
  if (!/^https?:\/\/[^\s\p{Cc}\\]+$/iu.test(text) || !text.isWellFormed()) return false;
  const url = URL.parse(text);
  return url !== null && (url.protocol === 'http:' || url.protocol === 'https:') && url.username === '' && url.password === '';
}

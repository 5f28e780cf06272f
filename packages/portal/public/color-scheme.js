// Sets the colour scheme before the first paint, so that no page flashes in the other one. A file, because inline scripts are refused.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem('countersign-color-scheme');
  } catch {
    // Storage is refused: the system's scheme it is.
  }
  const dark = chosen === 'dark' || (chosen !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.setAttribute('data-mantine-color-scheme', dark ? 'dark' : 'light');
})();

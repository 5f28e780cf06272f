// Sets the color scheme before the first paint, so that the page does not flash in the other scheme. This script is a file, because the
// content security policy blocks inline scripts.
(() => {
  let storedScheme = null;
  try {
    storedScheme = localStorage.getItem('countersign-color-scheme');
  } catch {
    // Storage is blocked, so the system's scheme is used.
  }
  const isDark = storedScheme === 'dark' || (storedScheme !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.setAttribute('data-mantine-color-scheme', isDark ? 'dark' : 'light');
})();

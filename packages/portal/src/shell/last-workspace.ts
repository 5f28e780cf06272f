const NAME = 'countersign-workspace';

/** Notes the workspace that was looked at last, so that `/` leads there. A browser that keeps nothing forgets it. */
export function rememberWorkspace(id: string): void {
  try {
    localStorage.setItem(NAME, id);
  } catch {
    // Storage is refused; `/` leads to the first workspace.
  }
}

/** The workspace that was looked at last; null when none is known. */
export function lastWorkspace(): string | null {
  try {
    return localStorage.getItem(NAME);
  } catch {
    return null;
  }
}

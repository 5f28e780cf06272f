const STORAGE_KEY = 'countersign-workspace';

/** Stores the ID of the last visited workspace, so that `/` can redirect to it. */
export function storeLastWorkspaceId(id: string): void {
  try {
    localStorage.setItem(STORAGE_KEY, id);
  } catch {
    // Storage is blocked; `/` redirects to the first workspace.
  }
}

/** The ID of the last visited workspace; null if none is stored. */
export function readLastWorkspaceId(): string | null {
  try {
    return localStorage.getItem(STORAGE_KEY);
  } catch {
    return null;
  }
}

/** Read a text that this browser has stored; null where it stores nothing. */
export function readStored(name: string): string | null {
  try {
    return localStorage.getItem(`headrace.${name}`);
  } catch {
    return null;
  }
}

export function store(name: string, value: string): void {
  try {
    localStorage.setItem(`headrace.${name}`, value);
  } catch {
    // A browser that stores nothing forgets it with the page.
  }
}

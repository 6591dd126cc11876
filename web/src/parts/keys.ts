/** Whether a key press opens Find: Ctrl K, or the command key and K. */
export function isOpening(event: KeyboardEvent): boolean {
  return event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey;
}

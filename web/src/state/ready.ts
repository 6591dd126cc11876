/** Mark the document once a page has its first data, or an error. */
export function noteAnswer(): void {
  requestAnimationFrame(() => {
    document.documentElement.dataset["ready"] = "true";
  });
}

export function noteWaiting(): void {
  delete document.documentElement.dataset["ready"];
}

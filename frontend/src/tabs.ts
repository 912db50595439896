/** Scroll rows of tabs on narrow screens to the current tab. */
export function showCurrentTabs(): void {
  for (const tab of document.querySelectorAll<HTMLElement>('.tabs [aria-current="page"]')) {
    const row = tab.closest<HTMLElement>(".tabs");
    if (row) row.scrollLeft = tab.offsetLeft + tab.offsetWidth - row.clientWidth;
  }
}

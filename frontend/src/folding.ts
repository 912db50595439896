/** What is folded on narrow screens (`.unfold` in the style sheets) until its button opens it. */
export function enableFolding(): void {
  // Delegated: parts of pages are replaced while they are watched.
  document.addEventListener("click", (event) => {
    const button = event.target instanceof Element ? event.target.closest("button[data-unfold]") : null;
    if (button === null) return;
    const open = button.getAttribute("aria-expanded") !== "true";
    button.setAttribute("aria-expanded", String(open));
    document.getElementById(button.getAttribute("aria-controls") ?? "")?.classList.toggle("unfolded", open);
  });
}

/** Buttons that expand content which is collapsed on narrow screens (`.unfold` in the style sheets). */
export function enableFolding(): void {
  // Delegated, since live pages replace their parts.
  document.addEventListener("click", (event) => {
    const button = event.target instanceof Element ? event.target.closest("button[data-unfold]") : null;
    if (button === null) return;
    const open = button.getAttribute("aria-expanded") !== "true";
    button.setAttribute("aria-expanded", String(open));
    document.getElementById(button.getAttribute("aria-controls") ?? "")?.classList.toggle("unfolded", open);
  });
}

/** The list of chapters is folded on narrow screens until its button opens it. */
export function enableFolding(): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>("button[data-unfold]")) {
    const folded = document.getElementById(button.getAttribute("aria-controls") ?? "");
    button.addEventListener("click", () => {
      const open = button.getAttribute("aria-expanded") !== "true";
      button.setAttribute("aria-expanded", String(open));
      folded?.classList.toggle("unfolded", open);
    });
  }
}

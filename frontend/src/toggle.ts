const KEY = "planarena-theme";

/** The header's button switches between light and dark and stores the choice. */
export function enableThemeToggle(): void {
  const button = document.querySelector<HTMLButtonElement>("[data-theme-toggle]");
  if (button === null) return;
  describe(button);
  button.hidden = false;
  button.addEventListener("click", () => {
    const next = isDark() ? "light" : "dark";
    document.documentElement.dataset["theme"] = next;
    try {
      localStorage.setItem(KEY, next);
    } catch {
      // Storage may be blocked; the choice applies to this page only.
    }
    describe(button);
  });
}

function isDark(): boolean {
  const chosen = document.documentElement.dataset["theme"];
  return chosen === undefined ? matchMedia("(prefers-color-scheme: dark)").matches : chosen === "dark";
}

function describe(button: HTMLButtonElement): void {
  const label = isDark() ? "Switch to light colours" : "Switch to dark colours";
  button.setAttribute("aria-label", label);
  button.title = label;
}

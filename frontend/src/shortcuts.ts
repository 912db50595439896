import type { Palette } from "./palette";

const KEY = "planarena-single-keys";
const ROWS = "main table.data tbody tr";

/** Keyboard shortcuts of all pages. Single keys can be turned off, since speech input may trigger them (WCAG 2.1.4). */
export function enableShortcuts(palette: Palette | null): void {
  const help = document.querySelector<HTMLDialogElement>("dialog[data-shortcuts]");
  const choice = help?.querySelector<HTMLInputElement>("input[type=checkbox]") ?? null;
  if (choice !== null) {
    choice.checked = singleKeys();
    choice.addEventListener("change", () => remember(choice.checked));
  }
  for (const opener of document.querySelectorAll<HTMLElement>("[data-shortcuts-open]")) {
    opener.hidden = false;
    opener.addEventListener("click", () => help?.showModal());
  }
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.altKey) return;
    if ((event.ctrlKey || event.metaKey) && event.key === "k") run(event, () => palette?.open());
    else if (!event.ctrlKey && !event.metaKey && singleKeys() && !isBusy(event.target)) single(event, palette, help);
  });
}

function single(event: KeyboardEvent, palette: Palette | null, help: HTMLDialogElement | null): void {
  if (event.key === "/") run(event, () => palette?.open());
  else if (event.key === "?") run(event, () => help?.showModal());
  else if (event.key === "j") run(event, () => goToRow(1));
  else if (event.key === "k") run(event, () => goToRow(-1));
}

function run(event: KeyboardEvent, action: () => void): void {
  event.preventDefault();
  action();
}

function isBusy(target: EventTarget | null): boolean {
  if (document.querySelector("dialog[open]") !== null) return true;
  return target instanceof HTMLElement && (target.isContentEditable || target.matches("input, select, textarea"));
}

/** Focus the first link of the next or the previous row of the page's tables. */
function goToRow(step: 1 | -1): void {
  const links = [...document.querySelectorAll<HTMLTableRowElement>(ROWS)]
    .map((row) => row.querySelector<HTMLAnchorElement>("a[href]"))
    .filter((link) => link !== null && link.checkVisibility());
  const row = document.activeElement?.closest("tr");
  const now = links.findIndex((link) => link?.closest("tr") === row);
  const next = now === -1 ? (step === 1 ? 0 : links.length - 1) : now + step;
  links[Math.min(Math.max(next, 0), links.length - 1)]?.focus();
}

function singleKeys(): boolean {
  try {
    return localStorage.getItem(KEY) !== "off";
  } catch {
    return true;
  }
}

function remember(on: boolean): void {
  try {
    localStorage.setItem(KEY, on ? "on" : "off");
  } catch {
    // Storage may be blocked; the choice is not stored then.
  }
}

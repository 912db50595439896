/** Arrow keys move between linked cells of a table, so that a single press of Tab leaves it (roving tabindex). */
export function moveBetweenCells(): void {
  document.addEventListener("keydown", (event) => {
    const link = event.target instanceof HTMLElement ? event.target.closest<HTMLElement>("[data-cells] td a") : null;
    const next = link && neighbour(link, event.key);
    if (next) {
      event.preventDefault();
      choose(next);
      next.focus();
    }
  });
  document.addEventListener("focusin", (event) => {
    const link = event.target instanceof HTMLElement ? event.target.closest<HTMLElement>("[data-cells] td a") : null;
    if (link) choose(link);
  });
  for (const table of document.querySelectorAll("[data-cells]")) {
    table.querySelectorAll<HTMLElement>("td a").forEach((link, place) => (link.tabIndex = place ? -1 : 0));
  }
}

function choose(link: HTMLElement): void {
  link.closest("[data-cells]")?.querySelector<HTMLElement>('td a[tabindex="0"]')?.setAttribute("tabindex", "-1");
  link.tabIndex = 0;
}

function neighbour(link: HTMLElement, key: string): HTMLElement | null {
  const cell = link.closest("td");
  const row = cell?.parentElement;
  if (!cell || !row) return null;
  const cells = [...row.querySelectorAll("td")];
  const place = cells.indexOf(cell);
  if (key === "ArrowLeft") return inside(cells[place - 1]);
  if (key === "ArrowRight") return inside(cells[place + 1]);
  if (key === "Home") return inside(cells[0]);
  if (key === "End") return inside(cells[cells.length - 1]);
  if (key !== "ArrowUp" && key !== "ArrowDown") return null;
  let other = row;
  for (;;) {
    const near = key === "ArrowUp" ? other.previousElementSibling : other.nextElementSibling;
    if (!(near instanceof HTMLElement)) return null;
    other = near;
    const next = inside(other.querySelectorAll("td")[place]);
    if (next) return next;
  }
}

function inside(cell: Element | undefined): HTMLElement | null {
  return cell?.querySelector<HTMLElement>("a") ?? null;
}

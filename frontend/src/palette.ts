const WAIT_MS = 150;

/** The search dialog: `/` or Ctrl+K opens it, arrow keys move through the results, Enter opens the first one. */
export class Palette {
  private readonly form: HTMLFormElement;
  private readonly input: HTMLInputElement;
  private readonly results: HTMLElement;
  private readonly pages: string;
  private request: AbortController | undefined;
  private timer: number | undefined;
  /** The query of the displayed results. */
  private current = "";

  /** The page's palette, or null on pages without one. */
  static find(): Palette | null {
    const dialog = document.querySelector<HTMLDialogElement>("dialog[data-palette]");
    return dialog === null ? null : new Palette(dialog);
  }

  private constructor(private readonly dialog: HTMLDialogElement) {
    this.form = part(dialog, "form");
    this.input = part(dialog, "input[type=search]");
    this.results = part(dialog, "[data-palette-results]");
    this.pages = this.results.innerHTML;
    this.input.addEventListener("input", () => this.askSoon());
    this.form.addEventListener("submit", (event) => this.choose(event));
    dialog.addEventListener("keydown", (event) => this.move(event));
    for (const opener of document.querySelectorAll("[data-palette-open]")) {
      opener.addEventListener("click", (event) => {
        event.preventDefault();
        this.open();
      });
    }
  }

  open(): void {
    if (!this.dialog.open) this.dialog.showModal();
    this.input.select();
  }

  private get words(): string {
    return this.input.value.trim();
  }

  private askSoon(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.ask(), WAIT_MS);
  }

  private async ask(): Promise<void> {
    const words = this.words;
    this.request?.abort();
    this.request = new AbortController();
    if (words === "") {
      this.show("", this.pages);
      return;
    }
    const query = new URLSearchParams({ q: words, part: "results" });
    try {
      const response = await fetch(`${this.form.action}?${query}`, { signal: this.request.signal });
      if (!response.ok) throw new Error(String(response.status));
      this.show(words, await response.text());
    } catch (error) {
      if (error instanceof DOMException && error.name === "AbortError") return;
      this.results.textContent = "The search cannot be reached. Enter opens its page.";
      this.current = "";
    }
  }

  private show(words: string, html: string): void {
    // Rendered by the site's template, which escapes user content.
    this.results.innerHTML = html;
    this.current = words;
  }

  private choose(event: SubmitEvent): void {
    const first = this.links[0];
    if (this.words === "" || this.current !== this.words || first === undefined) return;
    event.preventDefault();
    first.click();
  }

  private move(event: KeyboardEvent): void {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const stops: HTMLElement[] = [this.input, ...this.links];
    const now = stops.indexOf(document.activeElement as HTMLElement);
    stops[(Math.max(now, 0) + step + stops.length) % stops.length]?.focus();
  }

  private get links(): HTMLAnchorElement[] {
    return [...this.results.querySelectorAll<HTMLAnchorElement>("a")];
  }
}

function part<E extends Element>(within: Element, selector: string): E {
  const element = within.querySelector<E>(selector);
  if (element === null) throw new Error(`The palette has no ${selector}.`);
  return element;
}

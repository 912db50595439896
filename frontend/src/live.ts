import htmx from "htmx.org";

/** What the server sends for each change of an evaluation. */
interface LiveEvent {
  state: string;
  state_label: string;
  reason_text: string;
  done: number;
  total: number;
  outcomes: Record<string, number>;
}

const MOVING = new Set(["queued", "launching", "running", "aggregating"]);
const RESULTS_EVERY_MS = 2500;
const POLL_EVERY_MS = 4000;

/** Follow the evaluation on this page by server-sent events, or by polling where those cannot be had. */
export function followEvaluation(): void {
  const panel = document.getElementById("live");
  const url = panel?.dataset["events"];
  if (panel === null || url === undefined) return;
  const source = new EventSource(url);
  source.addEventListener("message", (message: MessageEvent<string>) => {
    const event = read(message.data);
    if (event === null) return;
    show(panel, event);
    if (MOVING.has(event.state)) {
      refreshResultsSoon();
    } else {
      source.close();
      void replace("#evaluation");
    }
  });
  source.addEventListener("end", () => source.close());
  source.addEventListener("error", () => {
    // The browser reconnects by itself unless the server refused the stream for good.
    if (source.readyState === EventSource.CLOSED) poll();
  });
}

function read(data: string): LiveEvent | null {
  try {
    const value: unknown = JSON.parse(data);
    return typeof value === "object" && value !== null && "state" in value ? (value as LiveEvent) : null;
  } catch {
    return null;
  }
}

function show(panel: HTMLElement, event: LiveEvent): void {
  setText(panel, "[data-live=state]", event.state_label);
  setText(panel, "[data-live=done]", String(event.done));
  setText(panel, "[data-live=total]", String(event.total));
  if (event.reason_text !== "") setText(panel, "[data-live=reason]", event.reason_text);
  panel.querySelector("[data-live=state]")?.setAttribute("data-state", event.state);
  const bar = panel.querySelector("progress");
  if (bar !== null) {
    bar.max = Math.max(event.total, 1);
    bar.value = event.done;
  }
  for (const cell of panel.querySelectorAll<HTMLElement>("[data-live-outcome]")) {
    cell.textContent = String(event.outcomes?.[cell.dataset["liveOutcome"] ?? ""] ?? 0);
  }
}

function setText(panel: HTMLElement, selector: string, text: string): void {
  const target = panel.querySelector(selector);
  // Unchanged text is left alone: screen readers announce every write to a live region.
  if (target !== null && target.textContent !== text) target.textContent = text;
}

let pending: number | undefined;

function refreshResultsSoon(): void {
  pending ??= setTimeout(() => {
    pending = undefined;
    // Never swap the filters away under somebody's fingers.
    if (document.getElementById("results")?.contains(document.activeElement) !== true) void replace("#results");
  }, RESULTS_EVERY_MS);
}

function replace(selector: string): Promise<void> {
  return htmx.ajax("get", location.href, { target: selector, select: selector, swap: "outerHTML" });
}

function poll(): void {
  const timer = setInterval(() => {
    const state = document.querySelector("#live [data-live=state]")?.getAttribute("data-state") ?? "";
    if (MOVING.has(state)) void replace("#evaluation");
    else clearInterval(timer);
  }, POLL_EVERY_MS);
}

import htmx from "htmx.org";

/** Progress of an evaluation, sent as an event for each change and on request. */
interface Progress {
  state: string;
  state_label: string;
  reason_text: string;
  done: number;
  total: number;
  outcomes: Record<string, number>;
  results: { task: string; outcome: string; score: number | null }[];
  /** Its place in the queue; not in events, since it changes independently. */
  waiting?: string;
}

const MOVING = new Set(["queued", "launching", "running", "aggregating"]);
const BEFORE_RUNNING = new Set(["queued", "launching"]);
const RESULTS_EVERY_MS = 2500;
/** Pages of large suites take longer to render, so they are refreshed less often. */
const RESULTS_MS_PER_TASK = 4;
const TICK_MS = 4000;
/** A stream that is silent for this long may be dead without the browser noticing. */
const SILENCE_MS = 15000;
const STREAM_AGAIN_MS = 30000;
const LATEST = 5;
const QUARTERS = ["", "A quarter of the tasks has ended.", "Half of the tasks have ended.", "Three quarters of the tasks have ended."];

/** Follow the evaluation on this page by server-sent events, and poll its progress if there are none. */
export function followEvaluation(): void {
  const panel = document.getElementById("live");
  const events = panel?.dataset["events"];
  const progress = panel?.dataset["progress"];
  if (panel !== null && events !== undefined && progress !== undefined) new Follower(panel, events, progress).start();
}

class Follower {
  private source: EventSource | undefined;
  private heardAt = 0;
  private streamEndedAt = 0;
  private timer: number | undefined;
  private asking = false;
  private quarter: number;
  private done: number;

  constructor(
    private readonly panel: HTMLElement,
    private readonly eventsUrl: string,
    private readonly progressUrl: string,
  ) {
    const bar = panel.querySelector("progress");
    this.done = bar?.value ?? 0;
    this.quarter = quarterOf(this.done, bar?.max ?? 1);
  }

  start(): void {
    this.heardAt = Date.now();
    this.listen();
    this.timer = setInterval(() => void this.tick(), TICK_MS);
  }

  private listen(): void {
    const source = new EventSource(this.eventsUrl);
    this.source = source;
    source.addEventListener("message", (message: MessageEvent<string>) => {
      const event = read(message.data);
      if (event !== null) this.heard(event);
    });
    source.addEventListener("end", () => source.close());
    // The browser reconnects unless the server rejected the stream; meanwhile the progress is polled.
    source.addEventListener("error", () => {
      this.heardAt = 0;
      if (source.readyState === EventSource.CLOSED) this.streamEndedAt = Date.now();
    });
  }

  private async tick(): Promise<void> {
    const closed = this.source?.readyState === EventSource.CLOSED;
    if (closed && Date.now() - this.streamEndedAt > STREAM_AGAIN_MS) this.listen();
    const streams = this.source?.readyState === EventSource.OPEN;
    if (this.asking || (streams && Date.now() - this.heardAt < SILENCE_MS)) return;
    this.asking = true;
    try {
      const response = await fetch(this.progressUrl, { headers: { Accept: "application/json" } });
      if (!response.ok) throw new Error(String(response.status));
      const answer = read(await response.text());
      if (answer !== null) this.heard(answer);
    } catch {
      setText(this.panel, "interrupted", "This page cannot reach the site. Retrying …");
    } finally {
      this.asking = false;
    }
  }

  private heard(event: Progress): void {
    this.heardAt = Date.now();
    setText(this.panel, "interrupted", "");
    show(this.panel, event);
    this.sayQuarter(event);
    if (event.done !== this.done) refreshResultsSoon(event.total);
    this.done = event.done;
    if (MOVING.has(event.state)) return;
    clearInterval(this.timer);
    this.source?.close();
    void replace("#evaluation");
  }

  /** Announce each quarter to screen readers; the counters change too often. */
  private sayQuarter(event: Progress): void {
    const quarter = quarterOf(event.done, event.total);
    if (quarter > this.quarter) setText(this.panel, "said", QUARTERS[quarter] ?? "");
    this.quarter = quarter;
  }
}

function quarterOf(done: number, total: number): number {
  return Math.floor((4 * done) / Math.max(total, 1));
}

function read(data: string): Progress | null {
  try {
    const value: unknown = JSON.parse(data);
    return typeof value === "object" && value !== null && "state" in value ? (value as Progress) : null;
  } catch {
    return null;
  }
}

function show(panel: HTMLElement, event: Progress): void {
  setText(panel, "state", event.state_label);
  setText(panel, "done", String(event.done));
  setText(panel, "total", String(event.total));
  if (event.reason_text !== "") setText(panel, "reason", event.reason_text);
  // Events do not contain the place in the queue, which is obsolete once the first task has run.
  const waiting = event.waiting ?? (BEFORE_RUNNING.has(event.state) ? undefined : "");
  if (waiting !== undefined) setText(panel, "waiting", waiting);
  panel.querySelector("[data-live=state]")?.setAttribute("data-state", event.state);
  const bar = panel.querySelector("progress");
  if (bar !== null) {
    bar.max = Math.max(event.total, 1);
    bar.value = event.done;
  }
  for (const cell of panel.querySelectorAll<HTMLElement>("[data-live-outcome]")) {
    cell.textContent = String(event.outcomes?.[cell.dataset["liveOutcome"] ?? ""] ?? 0);
  }
  showLatest(panel, event);
}

/** List the latest tasks above older ones. Responses have the latest task first, events last. */
function showLatest(panel: HTMLElement, event: Progress): void {
  const list = panel.querySelector("[data-live=latest]");
  const ran = (event.results ?? []).filter((one) => one.outcome !== "not_run");
  if (list === null || ran.length === 0) return;
  const newest = event.waiting === undefined ? ran.slice(-LATEST).reverse() : ran.slice(0, LATEST);
  const items = newest.map((one) => latestItem(panel, one.task, one.outcome, one.score));
  const names = new Set(newest.map((one) => one.task));
  const older = [...list.children].filter((item) => item instanceof HTMLElement && !names.has(item.dataset["task"] ?? "") && item.querySelector("a"));
  list.replaceChildren(...[...items, ...older].slice(0, LATEST));
}

function latestItem(panel: HTMLElement, task: string, outcome: string, score: number | null): HTMLElement {
  const item = document.createElement("li");
  item.dataset["task"] = task;
  const link = document.createElement("a");
  link.href = `${location.pathname}tasks/${encodeURI(task)}/`;
  link.textContent = `Task ${task}`;
  const label = panel.querySelector(`.tally [data-outcome="${CSS.escape(outcome)}"]`)?.cloneNode(true) ?? outcome;
  const figure = document.createElement("span");
  figure.className = "num";
  figure.textContent = score === null ? "" : score.toFixed(3);
  item.append(link, " ", label, " ", figure);
  return item;
}

function setText(panel: HTMLElement, name: string, text: string): void {
  const target = panel.querySelector(`[data-live=${name}]`);
  // Unchanged text is not written, since screen readers announce every write to a live region.
  if (target !== null && target.textContent !== text) target.textContent = text;
}

let pending: number | undefined;

function refreshResultsSoon(total: number): void {
  pending ??= setTimeout(() => {
    pending = undefined;
    // Never replace the filters while they are being used.
    const results = document.getElementById("results");
    if (results !== null && !results.contains(document.activeElement)) void replaceResults(results);
  }, Math.max(RESULTS_EVERY_MS, total * RESULTS_MS_PER_TASK));
}

/** Keeps expanded filters open. */
async function replaceResults(results: HTMLElement): Promise<void> {
  const open = results.querySelector<HTMLDetailsElement>(".further-filters")?.open ?? false;
  await replace("#results");
  const folded = document.querySelector<HTMLDetailsElement>("#results .further-filters");
  if (folded !== null && open) folded.open = true;
}

function replace(selector: string): Promise<void> {
  return htmx.ajax("get", location.href, { target: selector, select: selector, swap: "outerHTML" });
}

/** A step of the replay: its place in the list, and how long it is shown, in seconds. */
interface Part {
  item: HTMLElement;
  node: string;
  seconds: number;
}

type State = "waiting" | "running" | "done" | "failed";

const TICK_MS = 100;
/** Steps from the store took no time, and are shown nevertheless. */
const LEAST_SECONDS = 0.5;
const NEXT_TASK_MS = 8000;
const PLAN = "plan";
const ANSWER = "answer";

/** Replay the task on this page, and the next ones while its evaluation runs. Readers who prefer reduced motion see the
    final graph with its list of steps. */
export function watchPlan(): void {
  const panel = document.getElementById("live-task");
  if (panel === null || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const replay = new Replay(panel);
  // A replay below the fold would end unseen.
  const observer = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    observer.disconnect();
    replay.start();
  });
  observer.observe(panel);
}

class Replay {
  private readonly parts: Part[];
  private readonly button: HTMLButtonElement | null;
  private readonly now: HTMLElement | null;
  private elapsed = 0;
  private timer: number | undefined;

  constructor(private readonly panel: HTMLElement) {
    const speed = Number(panel.dataset["speed"]) || 1;
    this.parts = [...panel.querySelectorAll<HTMLElement>("[data-step]")].map((item) => ({
      item,
      node: item.dataset["step"] ?? "",
      seconds: Math.max(LEAST_SECONDS, Number(item.dataset["seconds"]) / speed || 0),
    }));
    this.button = panel.querySelector("[data-watch=toggle]");
    this.now = panel.querySelector("[data-watch=now]");
    this.button?.addEventListener("click", () => this.toggle());
  }

  start(): void {
    this.panel.dataset["replayed"] = "";
    this.elapsed = 0;
    this.resume();
  }

  private toggle(): void {
    if (this.timer !== undefined) this.pause();
    else if (this.isOver()) this.start();
    else this.resume();
  }

  private resume(): void {
    this.timer = setInterval(() => this.tick(), TICK_MS);
    this.label("Pause");
    this.show();
  }

  private pause(): void {
    clearInterval(this.timer);
    this.timer = undefined;
    this.label(this.isOver() ? "Play again" : "Play");
  }

  private tick(): void {
    // A replaced panel must not keep its timer.
    if (!this.panel.isConnected) return this.pause();
    if (document.hidden) return;
    this.elapsed += TICK_MS / 1000;
    this.show();
    if (!this.isOver()) return;
    this.pause();
    if (this.panel.dataset["running"] !== undefined) setTimeout(() => void this.next(), NEXT_TASK_MS);
  }

  private isOver(): boolean {
    return this.elapsed >= this.parts.reduce((sum, part) => sum + part.seconds, 0);
  }

  private show(): void {
    let start = 0;
    const states = new Map<string, State>();
    let running: Part | undefined;
    for (const part of this.parts) {
      const isDone = this.elapsed >= start + part.seconds;
      const isRunning = !isDone && this.elapsed >= start;
      const state = isDone ? ("failed" in part.item.dataset ? "failed" : "done") : isRunning ? "running" : "waiting";
      if (isRunning) running = part;
      states.set(part.node, state);
      part.item.dataset["state"] = state;
      start += part.seconds;
    }
    this.fill(states);
    const text = running === undefined ? "The plan has run." : `Now: ${running.item.querySelector(".tool-name")?.textContent ?? ""}`;
    if (this.now !== null && this.now.textContent !== text) this.now.textContent = text;
  }

  /** The request's values are there as soon as the plan is; an edge is drawn once its value exists. */
  private fill(states: Map<string, State>): void {
    const planned = states.get(PLAN) ?? "done";
    const stateOf = (key: string): State => {
      if (key.startsWith(`${ANSWER}:`)) return states.get(ANSWER) ?? "done";
      return states.get(key) ?? (planned === "done" ? "done" : "waiting");
    };
    for (const node of this.panel.querySelectorAll<SVGGraphicsElement>("[data-node]")) {
      const state = stateOf(node.dataset["node"] ?? "");
      if (state === node.dataset["state"]) continue;
      node.dataset["state"] = state;
      if (state === "running") this.follow(node);
    }
    for (const edge of this.panel.querySelectorAll<SVGElement>("[data-from]")) edge.dataset["state"] = stateOf(edge.dataset["from"] ?? "");
  }

  /** Scroll the graph, and not the page, to a node. */
  private follow(node: SVGGraphicsElement): void {
    const frame = this.panel.querySelector(".plan-scroll");
    if (frame === null) return;
    const [shown, box] = [frame.getBoundingClientRect(), node.getBoundingClientRect()];
    frame.scrollBy({
      left: box.left + box.width / 2 - shown.left - shown.width / 2,
      top: box.top + box.height / 2 - shown.top - shown.height / 2,
      behavior: "smooth",
    });
  }

  private label(text: string): void {
    if (this.button !== null) this.button.textContent = text;
  }

  /** Replace the panel by that of the newest task, unless a reader is using it or plays this one again. */
  private async next(): Promise<void> {
    const address = this.panel.dataset["again"];
    if (address === undefined || !this.panel.isConnected) return;
    const isIdle = !document.hidden && this.timer === undefined && !this.panel.contains(document.activeElement);
    const newest = isIdle ? await read(address) : null;
    if (newest !== null && newest.dataset["task"] !== this.panel.dataset["task"] && this.timer === undefined) {
      for (const list of newest.querySelectorAll("details")) list.open = this.panel.querySelector("details")?.open ?? false;
      this.panel.replaceWith(newest);
      watchPlan();
    } else if (newest === null || newest.dataset["running"] !== undefined) {
      setTimeout(() => void this.next(), NEXT_TASK_MS);
    }
  }
}

/** The panel of the newest task, or null if the site does not answer. */
async function read(address: string): Promise<HTMLElement | null> {
  try {
    const response = await fetch(address, { headers: { Accept: "text/html" } });
    if (!response.ok) return null;
    return new DOMParser().parseFromString(await response.text(), "text/html").getElementById("live-task");
  } catch {
    return null;
  }
}

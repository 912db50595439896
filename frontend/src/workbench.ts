import htmx from "htmx.org";
import { pointAtPictures } from "./pointing";

const AGAIN_MS = 1500;

/** Follow the run on this page, or the pair of runs, which has no stream of events: what happens replaces the page's content, and keeps
 * the runs alive while somebody watches. */
export function followRun(): void {
  const run = document.getElementById("run");
  const address = run?.dataset["events"];
  if (run === null || run.dataset["ended"] !== undefined) return;
  let source: EventSource | undefined;
  let pending = false;
  const refresh = async (): Promise<void> => {
    if (pending) return;
    pending = true;
    try {
      await htmx.ajax("get", location.href, { target: "#run", select: "#run", swap: "outerHTML" });
      pointAtPictures();
    } finally {
      pending = false;
    }
  };
  const poll = (): void => {
    setTimeout(() => {
      // A lost connection must not end the following, since nobody then seems to wait for the runs.
      void refresh()
        .catch(() => undefined)
        .then(() => {
          if (document.getElementById("run")?.dataset["ended"] === undefined) poll();
        });
    }, AGAIN_MS);
  };
  if (address === undefined) {
    poll();
    return;
  }
  source = new EventSource(address);
  source.addEventListener("message", () => void refresh());
  source.addEventListener("again", () => void refresh());
  source.addEventListener("end", () => {
    source?.close();
    // After a refresh that may be under way, which could miss the last event.
    setTimeout(() => void refresh(), pending ? AGAIN_MS : 0);
  });
  source.addEventListener("error", () => {
    if (source?.readyState === EventSource.CLOSED) poll();
  });
}

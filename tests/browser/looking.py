"""What is asked of a page that a browser shows, and its picture."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Page

from tests.run import ROOT

AXE = ROOT / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
PICTURES = ROOT / "test-output" / "pages"
WIDE, NARROW = 1440, 360
HEIGHTS = {WIDE: 900, NARROW: 740}
TALLEST = 3000
"""Pixels of a picture's height; what is below is like what is above."""

_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
EVERY_RULE: dict[str, Any] = {"runOnly": {"type": "tag", "values": _TAGS}, "rules": {"target-size": {"enabled": True}}}
_OF_SIZE = ["target-size", "scrollable-region-focusable", "landmark-unique", "link-name", "button-name"]
SIZES: dict[str, Any] = {
    "runOnly": {"type": "rule", "values": _OF_SIZE},
    "rules": {"target-size": {"enabled": True}},
}
"""What may differ where only the width does."""

_LOADS = 3
"""How often a page must move before that counts, each time with an empty cache: on a machine that is very busy the
browser shows tables before it has read all of their rows, once in a while."""
_WATCH = """
window.shifts = [];
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    const moved = entry.sources.map((source) => source.node?.nodeName + "." + (source.node?.className ?? ""));
    // A thousandth is a hundredth of what counts as good: less than that is the rounding of glyphs.
    if (entry.value >= 0.001) window.shifts.push(`${entry.value.toFixed(4)} (${moved.join(", ")})`);
  }
}).observe({ type: "layout-shift", buffered: true });
"""
_SETTLED = """async () => {
  await document.fonts.ready;
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
}"""
_FAULTS = """async (options) => {
  const { violations } = await axe.run(document, { ...options, resultTypes: ["violations"], preload: false });
  return violations.filter(({ impact }) => impact !== "minor").map(({ id, impact, help, nodes }) =>
    `${id} (${impact}): ${help}: ${nodes.slice(0, 3).map((node) =>
      node.target.join(" ") + " " + node.any.concat(node.all, node.none).map((check) => check.message).join("; ")
    ).join(" | ")}` + (nodes.length > 3 ? ` and ${nodes.length - 3} more` : ""));
}"""
_LAYOUT = """() => {
  const found = [];
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) {
    const all = [...document.querySelectorAll("body *")];
    const wide = all.filter((each) => each.getBoundingClientRect().right > width + 1);
    found.push(`scrolls sideways: ${document.documentElement.scrollWidth} > ${width}, for example ` +
      wide.slice(0, 3).map((each) => each.nodeName + "." + each.className).join(", "));
  }
  for (const image of document.images) {
    // Django's own have theirs from its style sheets.
    if (image.src.includes("/static/admin/")) continue;
    if (!image.hasAttribute("width") || !image.hasAttribute("height")) found.push(`image without a size: ${image.src}`);
  }
  if (document.title.trim() === "") found.push("no title");
  return found;
}"""
_SHOW_IMAGES = """() => Promise.all([...document.images].map((image) => {
  image.loading = "eager";
  return image.decode().catch(() => {});
}))"""


@dataclass(frozen=True)
class Looker:
    """A context of the browser in one colour scheme, with what went wrong in it."""

    scheme: str
    context: BrowserContext
    page: Page
    problems: list[str]
    origin: str

    def open(
        self, address: str, *, session: str | None, width: int, status: int = 200, leads_to: str = ""
    ) -> list[str]:
        """Open an address as the person with this session; return what was wrong about it, such as that it leads to
        another page."""
        self.context.clear_cookies()
        if session is not None:
            self.context.add_cookies([{"name": "sessionid", "value": session, "url": self.origin}])
        self.page.set_viewport_size({"width": width, "height": HEIGHTS[width]})
        for _ in range(_LOADS):
            self.problems.clear()
            response = self.page.goto(f"{self.origin}{address}", wait_until="load")
            self.page.evaluate(_SETTLED)
            shifts = self.page.evaluate("window.shifts")
            if not shifts:
                break
            self.page.context.new_cdp_session(self.page).send("Network.clearBrowserCache")
        assert response is not None
        found = [] if response.status == status else [f"status {response.status}, not {status}"]
        if not urlsplit(self.page.url).path.endswith(leads_to or urlsplit(address).path):
            found.append(f"leads to {self.page.url}")
        if shifts:
            found.append(f"moves while it loads: {'; '.join(shifts)}")
        return [f"{self.scheme}: {problem}" for problem in found]

    def said(self, *, status: int) -> list[str]:
        """What the console said since the page was opened, and which other hosts were asked. That the page itself came
        with an error's status is no news."""
        return [said for said in self.problems if status < 400 or f"status of {status}" not in said]

    def examine(self, *, width: int, rules: dict[str, Any] | None) -> list[str]:
        """What a ruler finds at this width, and axe by these rules, if any."""
        self.page.set_viewport_size({"width": width, "height": HEIGHTS[width]})
        found: list[str] = self.page.evaluate(_LAYOUT)
        if rules is not None:
            if not self.page.evaluate("() => 'axe' in window"):
                # Evaluated by the debugger: the page's own Content-Security-Policy stays as it is.
                self.page.evaluate(AXE.read_text())
            found += self.page.evaluate(_FAULTS, rules)
        return [f"{self.scheme}, {width} px: {problem}" for problem in found]

    def picture(self, name: str) -> None:
        """Keep a picture of the page at its present width."""
        PICTURES.mkdir(parents=True, exist_ok=True)
        self.page.evaluate(_SHOW_IMAGES)
        size: dict[str, Any] = self.page.viewport_size or {}
        height = min(TALLEST, self.page.evaluate("document.documentElement.scrollHeight"))
        path = PICTURES / f"{name}-{self.scheme}-{size['width']}.png"
        clip = {"x": 0, "y": 0, "width": size["width"], "height": height}
        self.page.screenshot(path=path, full_page=True, clip=clip, animations="disabled", caret="initial")


def looker(browser: Browser, *, scheme: str, origin: str) -> Looker:
    """A fresh context in this scheme."""
    context = browser.new_context(color_scheme=scheme, viewport={"width": WIDE, "height": HEIGHTS[WIDE]})
    context.add_init_script(_WATCH)
    page = context.new_page()
    page.set_default_timeout(20_000)
    problems: list[str] = []
    page.on("console", lambda said: said.type in {"error", "warning"} and problems.append(f"{said.type}: {said.text}"))
    page.on("pageerror", lambda error: problems.append(f"error of a script: {error}"))
    page.on(
        "request",
        lambda asked: asked.url.startswith((origin, "data:", "blob:")) or problems.append(f"asks {asked.url}"),
    )
    return Looker(scheme, context, page, problems, origin)

"""The picture of the rooms, `docs/rooms.svg`, drawn from the import contracts; `python -m tests.rooms` writes it."""

import tomllib
from collections.abc import Sequence
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "rooms.svg"
WIDTH, ROW, GAP, COLUMN = 760, 26, 6, 350
STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #1f2937; text-anchor: middle; }
  .title { font-weight: 600; }
  rect { fill: #e0ecff; stroke: #6b8fc9; rx: 5px; }
  .paper rect { fill: #fdeccf; stroke: #c69749; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e5e7eb; }
    rect { fill: #1e2f4d; }
    .paper rect { fill: #4a3718; }
  }
"""


def layers_of_library() -> list[list[str]]:
    """Rooms of `evaluator`, outermost first; rooms of one row do not import each other."""
    contract = _contract(lambda item: item.get("containers") == ["evaluator"])
    return [[name.strip() for name in layer.split("|")] for layer in contract["layers"]]


def layers_of_site() -> list[list[str]]:
    """Rooms of `leaderboard`, outermost first."""
    contract = _contract(lambda item: item.get("container") == "leaderboard")
    return [[name] for name in (*contract["outermost"], *reversed(contract["rooms"]))]


def picture() -> str:
    """The SVG: `leaderboard` on the left, `gpu_jobs` and `evaluator` on the right; arrows of imports point down."""
    site, library = layers_of_site(), layers_of_library()
    rows = max(len(site), len(library) + 2)
    height = 40 + (rows + 1) * (ROW + GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="Rooms of leaderboard, gpu_jobs and evaluator; each imports only rooms below it">',
        f"<style>{STYLE}</style>",
        *_column(title="leaderboard", layers=site, left=15, top=24),
        *_column(title="gpu_jobs", layers=[["contract, worker, launchers, model_server"]], left=395, top=24),
        *_column(title="evaluator", layers=library, left=395, top=24 + 2 * (ROW + GAP)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _column(*, title: str, layers: Sequence[Sequence[str]], left: int, top: int) -> list[str]:
    parts = [f'<text class="title" x="{left + COLUMN / 2:g}" y="{top}">{title}</text>']
    for number, names in enumerate(layers):
        width = (COLUMN - GAP * (len(names) - 1)) / len(names)
        for place, name in enumerate(names):
            x, y = left + place * (width + GAP), top + 10 + number * (ROW + GAP)
            parts.append(
                f"<g{' class=' + chr(34) + 'paper' + chr(34) if len(names) > 1 else ''}>"
                f'<rect x="{x:g}" y="{y}" width="{width:g}" height="{ROW}"/>'
                f'<text x="{x + width / 2:g}" y="{y + 17}">{escape(name)}</text></g>'
            )
    return parts


def _contract(wanted) -> dict:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = filter(wanted, settings["tool"]["importlinter"]["contracts"])
    return contract


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")

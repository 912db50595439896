"""How the shapes of a picture look in files, which have no style sheet: the site's light colours on white."""

from typing import NamedTuple

from leaderboard.boards.drawing.picture import SMALL, TEXT

PAPER, INK, SOFT, FAINT, RULE, STRONG = "#ffffff", "#16201c", "#46524d", "#5f6a65", "#d9dcd4", "#8a938d"
ACCENT, SUNKEN = "#0b5f54", "#f0f1ec"
SERIES = ("#0b5f54", "#a8480f", "#2a5b94", "#8a2f74", "#5b6110")
_SHADES = 10


class Style(NamedTuple):
    """Colours as `#rrggbb`, empty where nothing is drawn; lengths in the units of the picture."""

    fill: str = ""
    stroke: str = ""
    width: float = 1.0
    dash: float = 0.0
    size: float = SMALL


def _mixed(share: float) -> str:
    """A shade between white and the accent."""
    parts = (int(ACCENT[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{round(255 + (part - 255) * share):02x}" for part in parts)


STYLES = {
    "grid": Style(stroke=RULE),
    "axis": Style(stroke=STRONG),
    "edge": Style(stroke=SOFT),
    "tick": Style(fill=FAINT),
    "label": Style(fill=SOFT, size=TEXT),
    "name": Style(fill=SOFT),
    "baseline": Style(stroke=SOFT, width=1.5, dash=5.0),
    "front": Style(stroke=ACCENT, width=2.0),
    "whisker": Style(stroke=STRONG, width=1.5),
    "leader": Style(stroke=STRONG),
    "crowd": Style(stroke=STRONG),
    "dot": Style(fill=STRONG, stroke=PAPER),
    "dot best": Style(fill=ACCENT, stroke=PAPER),
    "missing": Style(stroke=SUNKEN),
    "series": Style(),
    **{f"heat-{level}": Style(stroke=_mixed(level / _SHADES)) for level in range(_SHADES + 1)},
    **{f"whisker-{number}": Style(stroke=color, width=1.5) for number, color in enumerate(SERIES, start=1)},
    **{f"series-{number}": Style(fill=color, stroke=color) for number, color in enumerate(SERIES, start=1)},
}
"""By role. Areas that can be clicked are not drawn."""


def style_of(role: str) -> Style:
    """The style of a role."""
    return STYLES.get(role, Style())

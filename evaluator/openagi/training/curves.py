"""The reward curve of a run, as CSV and as a drawing."""

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields

from evaluator.openagi.training.rltf import Point

_WIDTH, _HEIGHT = 640, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 16, 30, 40
_REWARD, _BASELINE, _GRID, _TEXT = "#1b6ca8", "#b3541e", "#d8d8d8", "#333333"
_TICKS = 5


def curve_csv(points: Sequence[Point]) -> str:
    """The curve with a line for each step: step, reward, baseline, invalid, entropy."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [field.name for field in fields(Point)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(point) for point in points)
    return text.getvalue()


def curve_svg(points: Sequence[Point], *, title: str) -> str:
    """The curve as an SVG drawing: reward of each step, and the baseline that is subtracted from it.

    Raises:
        ValueError: there are no points.
    """
    if not points:
        raise ValueError("there is no curve to draw: no step was taken")
    values = [value for point in points for value in (point.reward, point.baseline)]
    low, high = _range(values)
    last = max(1, points[-1].step)

    def x(step: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * step / last

    def y(value: float) -> float:
        return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (high - value) / (high - low)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'font-family="sans-serif" font-size="12" fill="{_TEXT}">',
        f"<title>{_escaped(title)}</title>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        f'<text x="{_LEFT}" y="18" font-weight="bold">{_escaped(title)}</text>',
        *_grid(low=low, high=high, last=last, x=x, y=y),
        _line([(x(p.step), y(p.reward)) for p in points], colour=_REWARD),
        _line([(x(p.step), y(p.baseline)) for p in points], colour=_BASELINE, dashes="5 3"),
        *_legend(),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _range(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    margin = 0.05 * (high - low) or 0.05
    return low - margin, high + margin


def _grid(*, low: float, high: float, last: int, x: Callable[[float], float], y: Callable[[float], float]) -> list[str]:
    lines = []
    for tick in range(_TICKS):
        value, step = low + (high - low) * tick / (_TICKS - 1), last * tick / (_TICKS - 1)
        lines.append(
            f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="{_GRID}"/>'
        )
        lines.append(f'<text x="{_LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:.2f}</text>')
        lines.append(f'<text x="{x(step):.1f}" y="{_HEIGHT - _BOTTOM + 16}" text-anchor="middle">{step:.0f}</text>')
    lines.append(f'<text x="{(_LEFT + _WIDTH) / 2:.0f}" y="{_HEIGHT - 6}" text-anchor="middle">step</text>')
    return lines


def _legend() -> list[str]:
    right = _WIDTH - _RIGHT
    return [
        f'<text x="{right - 90}" y="18" text-anchor="end" fill="{_REWARD}">mean reward</text>',
        f'<text x="{right}" y="18" text-anchor="end" fill="{_BASELINE}">baseline b</text>',
    ]


def _line(places: Sequence[tuple[float, float]], *, colour: str, dashes: str = "none") -> str:
    written = " ".join(f"{across:.1f},{down:.1f}" for across, down in places)
    return (
        f'<polyline points="{written}" fill="none" stroke="{colour}" stroke-width="1.8" stroke-dasharray="{dashes}"/>'
    )


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")

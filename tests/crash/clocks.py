"""Wall clocks of hosts that jump while processes run."""

from pathlib import Path

JUMP = "jump"


def jumped(folder: Path) -> float:
    """Seconds by which the clocks of web server and workers have jumped, which tests write into the run's folder."""
    try:
        return float((folder / JUMP).read_text() or 0)
    except FileNotFoundError:
        return 0.0

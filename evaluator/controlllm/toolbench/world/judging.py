"""The judge of `toolworld`. It needs nothing of the miniature world, so that the registry loads no numpy."""

from functools import cache
from pathlib import Path

import evaluator
from evaluator.controlllm.toolbench.judging import ToolJudge
from evaluator.core.canonical_json import digest

_SCORED_BY = ("scoring/metrics/results", "core/naming.py", "miniature/pictures")
"""In the package: what the scores by rules are made of."""


class WorldJudge(ToolJudge):
    """The judge of the other suites of this family, whose digest covers the scores by rules too."""

    def digest(self) -> str:
        """Digest of the rules of judgements and scores."""
        return _digest()


@cache
def _digest() -> str:
    package = Path(evaluator.__file__).parent
    files = [file for name in _SCORED_BY for file in _files(package / name)]
    contents = {file.relative_to(package).as_posix(): file.read_text(encoding="utf-8") for file in files}
    return digest({"judge": ToolJudge().digest(), "scores": contents})


def _files(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(path.rglob("*.py"))

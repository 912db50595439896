"""The figures of anchors and damaged plans in docs/validity.md are those that `planarena validity` measures now.

Whatever changes the judge changes them. This writes those of every suite whose files are here:

    WRITE_TABLES=1 ./planarena test tests/evaluator/controlllm/toolbench/test_documented_figures.py
"""

import os
from pathlib import Path

import pytest

from evaluator.cli.validity import as_markdown, judged_tables, kinds_of_damage
from evaluator.episodes.base import Setting, episode_of
from evaluator.studies.validity.judged import measure_judged
from tests.rings import usual

CHAPTER = Path(__file__).resolve().parents[4] / "docs" / "studies" / "judged-suites.md"


def check(*, heading: str, found: str) -> None:
    """Compare what stands below a heading with what was measured, or write it."""
    before, line, rest = CHAPTER.read_text(encoding="utf-8").partition(f"\n### {heading}\n")
    documented, end, after = rest.partition("\n#")
    assert line
    if os.environ.get("WRITE_TABLES"):
        documented = f"\n{found}\n"
        CHAPTER.write_text(f"{before}{line}{documented}{end}{after}", encoding="utf-8")
    assert documented.strip() == found


def test_the_kinds_of_damage():
    check(heading="Kinds of damage", found=kinds_of_damage().markdown())


@pytest.mark.parametrize("slug", usual(["toolmini", "tool100", "tool2k"], of=["toolmini"]))
def test_the_figures(suites, controlllm_folder, slug):
    if slug == "tool2k" and not (controlllm_folder / "tool2k_gold_even.json").is_file():
        pytest.skip("The documented figures of Tool2K are over the even half of its gold.")
    suite = suites[slug]
    evaluator = episode_of(slug).evaluator(suite=suite, setting=Setting())
    report = measure_judged(
        suite=suite,
        evaluate=lambda planner, keys: evaluator.run(planner=planner, tasks=keys),
        tasks=[task.key for task in suite.tasks],
    )
    check(heading=f"Figures of {slug}", found=as_markdown(judged_tables(report)))

"""The tables of the chapter on validity: what is known of each suite, from scores that were measured and kept.

Beside the metadata of a suite, `validity/SUITE.json` has the scores of `measure_shortcuts`, and `validity/SUITE.toml`
says in words what they do not show.
"""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evaluator.core.commands.listing import Listing
from evaluator.core.suites.registry import folder_of, whole_plans_of
from evaluator.scoring.board_table import GOLD
from evaluator.studies.validity.shortcuts import ASKING, CONSTANT, COPIED, ShortcutReport, SplitReport

_NAMES = {
    GOLD: "gold plans", "no-op": "floor: empty plan (`no-op`)", "majority": "floor: constant answer (`majority`)",
    "last-number": "floor: `last-number`", "identity": "floor: `identity`", CONSTANT: "floor: the most frequent plan",
    COPIED: "floor: that plan with the whole request as every text", ASKING: "floor: `ask-everything`",
}  # fmt: skip
_COUNTED = {
    "exact": "Share of plans that are the gold plan; boards show executed scores instead.",
    "judged": "Share of plans that the judge says solve the request, undecided ones counting 0.",
    "turns": "Score of the board.",
}


def measured(slug: str) -> ShortcutReport | None:
    """The kept scores of a suite; None if none were measured.

    Raises:
        LookupError: there is no such suite.
    """
    path = scores_file(slug)
    return ShortcutReport.from_json(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else None


def scores_file(slug: str) -> Path:
    """Where the scores of a suite are kept.

    Raises:
        LookupError: there is no such suite.
    """
    return _folder(slug) / f"{slug}.json"


def _folder(slug: str) -> Path:
    return folder_of(slug) / "metadata" / "validity"


def section(slug: str) -> str:
    """What the chapter says of a suite, as Markdown.

    Raises:
        LookupError: there is no such suite, or nothing is written on it.
    """
    parts = [f"### {slug}"]
    if whole := whole_plans_of(slug):
        parts.append(f"[`{whole}`](#{whole}) step by step: the same requests, data, floors and shortcuts.")
        return "\n\n".join(parts)
    path = _folder(slug) / f"{slug}.toml"
    if not path.is_file():
        raise LookupError(f"nothing is written on the validity of {slug}: there is no {path}")
    limits = tomllib.loads(path.read_text(encoding="utf-8"))
    report = measured(slug)
    facts = Listing("question", "answer")
    for question, answer in _answers(limits, report=report).items():
        facts.add_row(question, answer)
    parts.append(facts.markdown())
    if report is not None:
        parts += [_COUNTED[report.counted], _scores(report).markdown()]
    return "\n\n".join(parts)


def _answers(limits: Mapping[str, Any], *, report: ShortcutReport | None) -> dict[str, str]:
    answers = {
        "what the ranking score estimates": limits.get("estimand") or (report.estimand if report else ""),
        "independent units": limits.get("units") or (report.units if report else ""),
        "contamination": limits.get("contamination", ""),
        "not shown": limits.get("not_shown", ""),
        "floors and shortcuts": limits.get("shortcuts", ""),
    }
    return {question: " ".join(str(answer).split()) for question, answer in answers.items() if answer}


def _scores(report: ShortcutReport) -> Listing:
    headings = [f"{name} ({split.tasks:,} tasks)" for name, split in report.splits.items()]
    table = Listing("planner", *headings)
    splits = list(report.splits.values())
    for name in splits[0].means:
        table.add_row(_NAMES.get(name, f"shortcut: `{name}`"), *(f"{split.means[name]:.3f}" for split in splits))
    if all(split.best for split in splits):
        table.add_row("headroom: gold less the best shortcut", *(_headroom(split) for split in splits))
    return table


def _headroom(split: SplitReport) -> str:
    return f"{split.means[GOLD] - split.means[split.best]:.3f}"

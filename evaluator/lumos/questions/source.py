"""The files of HotpotQA and StrategyQA: questions as LUMOS evaluates on them, and the operator's paragraphs.

The questions are files of github.com/allenai/lumos without paragraphs. HotpotQA (Yang et al., 2018; CC BY-SA 4.0)
publishes those in its distractor setting, StrategyQA (Geva et al., 2021) those that its annotators used as evidence.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluator.lumos.mounted import Mounted
from evaluator.lumos.retrieval.articles import Article
from evaluator.network.released_files import PublicFile, Release

_COMMIT = "146dd9d"
_BASE = f"https://raw.githubusercontent.com/allenai/lumos/{_COMMIT}/data/eval"
HOTPOTQA, STRATEGYQA = "hotpotqa_test.json", "strategyqa_test.json"
RELEASE = Release(
    name="lumos-questions",
    origin="https://github.com/allenai/lumos",
    commit=_COMMIT,
    files=(
        PublicFile(
            name=HOTPOTQA,
            base=_BASE,
            served_as="hotpotqa/test.json",
            sha256="05001dcdeb2b2b2243a88f23daaf8de9237494cd387e13bc25854d3e031101d3",
            bytes=1_179_017,
        ),
        PublicFile(
            name=STRATEGYQA,
            base=_BASE,
            served_as="strategyqa/test.json",
            sha256="bdce966d45be45b362e005af03ed0bf7ae2ed2c4a5f5a03955ec72b4df933637",
            bytes=207_408,
        ),
    ),
)
DISTRACTORS = Mounted(
    suite="hotpotqa",
    files=("hotpot_dev_distractor_v1.json",),
    origin="HotpotQA's development file of the distractor setting (hotpotqa.github.io)",
)
EVIDENCE = Mounted(
    suite="strategyqa",
    files=("strategyqa_train_paragraphs.json",),
    origin="StrategyQA's file of evidence paragraphs (allenai.org/data/strategyqa)",
)


class QuestionFileError(ValueError):
    """A file does not have the released form; the message names file and entry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question."""

    text: str
    answer: str
    kind: str = ""
    """HotpotQA: `bridge` or `comparison`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Distractors:
    """HotpotQA's paragraphs."""

    articles: tuple[Article, ...]
    """Each title once, in the order of the file."""
    supporting: Mapping[str, tuple[str, ...]]
    """Titles of the articles that an answer follows from, each once, by question."""


def read_questions(path: Path) -> list[Question]:
    """LUMOS's questions of either data set; those of StrategyQA are answered with yes or no.

    Raises:
        QuestionFileError: the file does not have the released form.
    """
    found = []
    for place, row in enumerate(_rows(path)):
        answer = row.get("answer")
        text = "yes" if answer is True else "no" if answer is False else answer
        if not isinstance(row.get("question"), str) or not isinstance(text, str):
            raise QuestionFileError(f"{path}: entry {place} lacks a question or an answer")
        found.append(Question(text=row["question"].strip(), answer=text, kind=str(row.get("type", ""))))
    return found


def read_distractors(path: Path) -> Distractors:
    """HotpotQA's paragraphs: a list of objects with `question`, `context` and `supporting_facts`.

    Raises:
        QuestionFileError: the file does not have the released form.
    """
    articles: dict[str, Article] = {}
    supporting: dict[str, tuple[str, ...]] = {}
    for place, row in enumerate(_rows(path)):
        try:
            for title, sentences in row["context"]:
                articles.setdefault(title, Article(title, ("".join(sentences).strip(),)))
            titles = dict.fromkeys(title for title, _ in row["supporting_facts"])
            supporting[row["question"].strip()] = tuple(titles)
        except (KeyError, TypeError, ValueError, AttributeError):
            form = "context: [[title, [sentences]], ...] and supporting_facts: [[title, number], ...]"
            raise QuestionFileError(f"{path}: entry {place} lacks question, {form}") from None
    return Distractors(articles=tuple(articles.values()), supporting=supporting)


def read_evidence(path: Path) -> tuple[Article, ...]:
    """StrategyQA's paragraphs: an object of objects with `title`, `para_index` and `content`.

    Raises:
        QuestionFileError: the file does not have the released form.
    """
    value = _json(path)
    if not isinstance(value, dict):
        raise QuestionFileError(f"{path} holds no object of paragraphs by their ids")
    by_title: dict[str, list[tuple[int, str]]] = {}
    for name, row in value.items():
        try:
            by_title.setdefault(str(row["title"]), []).append((int(row["para_index"]), str(row["content"])))
        except (KeyError, TypeError, ValueError):
            raise QuestionFileError(f"{path}: paragraph {name!r} lacks title, para_index or content") from None
    return tuple(
        Article(
            title, tuple(dict.fromkeys(text for _, text in sorted(paragraphs, key=lambda one: one[0]) if text.strip()))
        )
        for title, paragraphs in by_title.items()
    )


def _rows(path: Path) -> list[dict[str, Any]]:
    value = _json(path)
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        raise QuestionFileError(f"{path} holds no list of objects")
    return value


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise QuestionFileError(f"{path} cannot be read: {error}") from error

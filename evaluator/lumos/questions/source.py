"""The files of HotpotQA and StrategyQA: questions in LUMOS's version, and the operator's paragraphs.

The questions are files of github.com/allenai/lumos without paragraphs. HotpotQA (Yang et al., 2018; CC BY-SA 4.0)
publishes the paragraphs of its distractor setting, StrategyQA (Geva et al., 2021) its annotators' evidence.
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
            name=HOTPOTQA, base=_BASE, served_as="hotpotqa/test.json", bytes=1_179_017,
            sha256="05001dcdeb2b2b2243a88f23daaf8de9237494cd387e13bc25854d3e031101d3",
        ),
        PublicFile(
            name=STRATEGYQA, base=_BASE, served_as="strategyqa/test.json", bytes=207_408,
            sha256="bdce966d45be45b362e005af03ed0bf7ae2ed2c4a5f5a03955ec72b4df933637",
        ),
    ),
)  # fmt: skip
DISTRACTORS = Mounted(
    suite="hotpotqa", files=("hotpot_dev_distractor_v1.json",),
    origin="HotpotQA's development file of the distractor setting (hotpotqa.github.io)",
)  # fmt: skip
EVIDENCE = Mounted(
    suite="strategyqa", files=("strategyqa_train_paragraphs.json",),
    origin="StrategyQA's file of evidence paragraphs (allenai.org/data/strategyqa)",
)  # fmt: skip


class QuestionFileError(ValueError):
    """A file does not have the released form; the message names file and entry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question."""

    text: str
    answer: str
    kind: str = ""
    """HotpotQA: `bridge` or `comparison`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Distractors:
    """HotpotQA's paragraphs."""

    articles: tuple[Article, ...]
    """Without duplicate titles, in the order of the file."""
    supporting: Mapping[str, tuple[str, ...]]
    """Titles of the supporting articles of each question, without duplicates."""


def read_questions(path: Path) -> list[Question]:
    """LUMOS's questions of either data set; answers of StrategyQA are yes or no.

    Raises:
        QuestionFileError: the file does not have the released form.
    """
    questions = []
    for place, row in enumerate(_rows(path)):
        answer = row.get("answer")
        text = "yes" if answer is True else "no" if answer is False else answer
        if not isinstance(row.get("question"), str) or not isinstance(text, str):
            raise QuestionFileError(f"{path}: entry {place} lacks a question or an answer")
        questions.append(Question(text=row["question"].strip(), answer=text, kind=str(row.get("type", ""))))
    return questions


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
    articles = []
    for title, paragraphs in by_title.items():
        ordered = sorted(paragraphs, key=lambda paragraph: paragraph[0])
        articles.append(Article(title, tuple(dict.fromkeys(text for _, text in ordered if text.strip()))))
    return tuple(articles)


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

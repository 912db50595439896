"""The operator's files of A-OKVQA (Schwenk et al., 2022) and ScienceQA (Lu et al., 2022) in their released form.

ScienceQA has the licence CC BY-NC-SA 4.0; the photographs of A-OKVQA are COCO's.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluator.lumos.mounted import Mounted

LETTERS = "ABCDEFGH"
"""Letters of choices; a question has at most eight."""
OKVQA = Mounted(
    suite="a-okvqa", files=("aokvqa_v1p0_val.json", "val2017"),
    origin="A-OKVQA's validation file (allenai.org/project/a-okvqa) and COCO's folder val2017",
)  # fmt: skip
SCIENCE = Mounted(
    suite="scienceqa", files=("problems.json", "test"),
    origin="ScienceQA's problems.json and the folder test of its pictures (scienceqa.github.io)",
)  # fmt: skip


class ChoiceFileError(ValueError):
    """A file does not have the released form; the message names file and entry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceQuestion:
    """A question about a picture with several choices."""

    key: str
    text: str
    choices: tuple[str, ...]
    right: int
    """Index of the right choice."""
    picture: str
    """Path of the picture in the suite's folder."""
    hint: str = ""
    subject: str = ""


def read_okvqa(path: Path) -> list[ChoiceQuestion]:
    """Read a list of objects with `question_id`, `image_id`, `question`, `choices` and `correct_choice_idx`.

    Raises:
        ChoiceFileError: the file does not have the released form.
    """
    value = _json(path)
    if not isinstance(value, list):
        raise ChoiceFileError(f"{path} holds no list of questions")
    return [_checked(path=path, name=str(place), read=_okvqa, row=row) for place, row in enumerate(value)]


def read_science(path: Path) -> list[ChoiceQuestion]:
    """Read an object of objects with `question`, `choices`, `answer`, `hint`, `image`, `subject` and `split`. Returns
    the questions of the test split that have a picture, like LUMOS.

    Raises:
        ChoiceFileError: the file does not have the released form.
    """
    value = _json(path)
    if not isinstance(value, dict):
        raise ChoiceFileError(f"{path} holds no object of problems by their ids")
    return [
        _checked(path=path, name=name, read=_science, row=row)
        for name, row in value.items()
        if not isinstance(row, dict) or (row.get("split") == "test" and row.get("image"))
    ]


def _checked(*, path: Path, name: str, read: Any, row: Any) -> ChoiceQuestion:
    try:
        question: ChoiceQuestion = read(name, row)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ChoiceFileError(f"{path}: question {name} lacks something or has another form ({error!r})") from None
    count = len(question.choices)
    if not 2 <= count <= len(LETTERS) or not 0 <= question.right < count:
        raise ChoiceFileError(f"{path}: question {name} has {count} choices, of which {question.right} is right")
    return question


def _okvqa(_: str, row: dict[str, Any]) -> ChoiceQuestion:
    return ChoiceQuestion(
        key=str(row["question_id"]), text=str(row["question"]).strip(), choices=tuple(map(str, row["choices"])),
        right=int(row["correct_choice_idx"]), picture=f"val2017/{int(row['image_id']):012}.jpg",
    )  # fmt: skip


def _science(name: str, row: dict[str, Any]) -> ChoiceQuestion:
    number, picture = int(name), str(row["image"])
    if "/" in picture or "\\" in picture or picture.startswith("."):
        raise ValueError(f"{picture!r} is no name of a picture")
    return ChoiceQuestion(
        key=str(number), text=str(row["question"]).strip(), choices=tuple(map(str, row["choices"])),
        right=int(row["answer"]), picture=f"test/{number}/{picture}", hint=str(row.get("hint") or "").strip(),
        subject=str(row.get("subject") or ""),
    )  # fmt: skip


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ChoiceFileError(f"{path} cannot be read: {error}") from error

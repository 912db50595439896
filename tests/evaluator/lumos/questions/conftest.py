"""HotpotQA and StrategyQA with LUMOS's questions, and operator's files of a few paragraphs in the released form."""

import json
import shutil
from pathlib import Path

import pytest

from evaluator.core.suites import registry
from evaluator.lumos.mounted import VARIABLE
from evaluator.lumos.questions.source import DISTRACTORS, EVIDENCE, HOTPOTQA, RELEASE, STRATEGYQA
from evaluator.network.released_files import MANIFEST
from tests.evaluator.core.suites.released_data import need

FILM = "Kiss and Tell (1945 film)"


@pytest.fixture(scope="session")
def released():
    return need(RELEASE, beside="lumos")


def distractors(folder: Path) -> list[dict[str, object]]:
    """HotpotQA's file: every question of LUMOS's, all with the same three articles."""
    questions = json.loads((folder / HOTPOTQA).read_text())
    context = [
        ["Scott Derrickson", ["Scott Derrickson is an American director.", " He was born in Denver."]],
        [FILM, ["Kiss and Tell is a film.", " Shirley Temple played Corliss Archer."]],
        ["Shirley Temple", ["Shirley Temple was Chief of Protocol of the United States."]],
    ]
    return [
        {
            "_id": f"{place:024x}", "question": one["question"], "answer": one["answer"], "type": one["type"],
            "level": "hard", "context": context, "supporting_facts": [[FILM, 1], ["Shirley Temple", 0], [FILM, 0]],
        }
        for place, one in enumerate(questions)
    ]  # fmt: skip


def evidence() -> dict[str, dict[str, object]]:
    """StrategyQA's file of paragraphs."""

    def paragraph(title: str, place: int, content: str) -> dict[str, object]:
        return {"title": title, "section": "", "headers": [], "para_index": place, "content": content}

    return {
        "Frost-2": paragraph("Frost", 2, "Frost is common in winter, from December on."),
        "Frost-1": paragraph("Frost", 1, "Frost is a thin layer of ice."),
        "Graduation-1": paragraph("Graduation", 1, "College commencements take place in December and in May."),
    }


@pytest.fixture
def mounted(monkeypatch, tmp_path, released):
    """Both suites with all their files."""
    monkeypatch.setenv("PLANARENA_DATA", str(tmp_path))
    monkeypatch.setenv(VARIABLE, str(tmp_path / "mounted"))
    RELEASE.folder.mkdir(parents=True)
    for name in (HOTPOTQA, STRATEGYQA):
        shutil.copy(released / name, RELEASE.folder / name)
    (RELEASE.folder / MANIFEST).write_text("{}")
    for place, content in ((DISTRACTORS, distractors(released)), (EVIDENCE, evidence())):
        path = place.path(place.files[0])
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(content))
    registry.forget()
    yield tmp_path
    registry.forget()

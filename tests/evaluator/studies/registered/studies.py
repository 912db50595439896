"""A small study for tests: three arms, three groups, scores from a formula."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from evaluator.core.signatures.envelope import PrivateKey
from evaluator.studies.registered.conduct import Author, add_run, register
from evaluator.studies.registered.files import as_bytes
from evaluator.studies.registered.folder import PLAN, TASKS, StudyFolder
from evaluator.studies.registered.keys import list_key

KEY = PrivateKey.from_secret("the key of an author of studies")
STRANGER = PrivateKey.from_secret("the key of somebody else")
START = datetime(2026, 11, 1, 12, tzinfo=UTC)
COMMIT = "c" * 40
TASK_GROUPS = {f"{group}/{number}": group for group in ("sums", "texts") for number in range(8)}
SEEDS = range(6)
PLAN_TEXT = """
format = "planarena-study/1"
name = "toy"
title = "Does the second arm solve more?"
authors = ["Somebody"]
question = "Does it?"
design = "Two arms on sixteen tasks."
decision = "Yes if the interval of the primary contrast lies above 0."
seeds = [0, 1, 2, 3, 4, 5]

[[arms]]
key = "plain"
label = "plain"
facts = { "replies at most" = 1 }

[[arms]]
key = "taught"
label = "taught, with feedback"
facts = { "replies at most" = 3 }

[code]
paths = ["code"]

[data]
paths = ["data.txt"]

[analysis]
method = "tasks-and-seeds"

[[analysis.contrasts]]
key = "gain"
treatment = "taught"
control = "plain"
primary = true

[[tables]]
key = "arms"
kind = "arms"
columns = ["sums", "texts", "all"]

[[tables]]
key = "gains"
kind = "contrasts"

[[tables]]
key = "only"
kind = "only"
"""


def scores_of(arm, seed, *, gain=0.1):
    """Scores in [0, 1]; every second task of `taught` gains."""
    return {
        task: round(0.3 + 0.02 * place + 0.001 * seed * place + (gain if arm == "taught" and place % 2 else 0), 6)
        for place, task in enumerate(TASK_GROUPS)
    }


class Clock:
    """A minute passes with every look."""

    def __init__(self):
        self.moment = START

    def __call__(self):
        self.moment += timedelta(minutes=1)
        return self.moment


def new_study(folder: Path, *, plan: str = PLAN_TEXT, listed: bool = True) -> tuple[Author, StudyFolder]:
    """An author and a study that is not registered yet, in `folder/studies/toy`; its code is in `folder`."""
    from evaluator.studies.registered.analysis import ANALYSIS_CODE

    for name in ANALYSIS_CODE:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("pass\n")
    (folder / "code").mkdir()
    (folder / "code" / "train.py").write_text("steps = 1\n")
    (folder / "data.txt").write_text("data\n")
    path = folder / "studies" / "toy"
    path.mkdir(parents=True)
    (path / PLAN).write_text(plan)
    (path / TASKS).write_bytes(as_bytes(TASK_GROUPS))
    if listed:
        list_key(folder=folder / "studies", key=KEY.public, holder="Somebody", now=START)
    author = Author(
        key=KEY, trusted={KEY.public.id: KEY.public}, root=folder, now=Clock(), commit=lambda: (COMMIT, False)
    )
    return author, StudyFolder(path)


def registered_study(folder: Path, **options) -> tuple[Author, StudyFolder]:
    author, study = new_study(folder, **options)
    register(author=author, study=study, runner=None)
    return author, study


def add_all(author, study, *, gain=0.1):
    for seed in SEEDS:
        for arm in ("plain", "taught"):
            add_run(author=author, study=study, arm=arm, seed=seed, scores=scores_of(arm, seed, gain=gain))

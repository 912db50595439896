"""The commands `planarena study ...`: registered studies."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar, get_args

import typer

from evaluator.core.commands.exit_codes import ExitCode
from evaluator.core.commands.options import JsonFlag
from evaluator.core.commands.usage import log, out, print_json, usage_error

if TYPE_CHECKING:
    from evaluator.studies.registered.conduct import Author, Runner
    from evaluator.studies.registered.folder import StudyFolder

Result = TypeVar("Result")

app = typer.Typer(no_args_is_help=True)

FolderArgument = Annotated[Path, typer.Argument(help="Folder of the study, with its plan.toml.")]
WorkOption = Annotated[Path | None, typer.Option(help="Folder of planners and checkpoints; default: .data/studies.")]
StoreOption = Annotated[str, typer.Option(help="Store of artefacts, kept between runs.")]
ArmOption = Annotated[str, typer.Option(help="Key of the arm.")]
SeedOption = Annotated[int, typer.Option(min=0, help="Seed of the run.")]
DocumentsOption = Annotated[Path | None, typer.Option(help="Folder of Markdown files with generated tables.")]
KeyOption = Annotated[str, typer.Option(help="The authors' public key (base64) or its id; default: the listed ones.")]


@app.command()
def register(folder: FolderArgument, work: WorkOption = None, store: StoreOption = "") -> None:
    """Sign a study's plan, code, data and analysis, before its first run.

    Publish the registration before the first run, by a commit that is pushed: the time in it is your own word.
    """
    study = _study(folder)
    author = _author(study, create=True)

    def signed() -> str:
        from evaluator.studies.registered.conduct import register as registered
        from evaluator.studies.registered.keys import list_key, private_key_file

        statement = registered(author=author, study=study, runner=_runner(study, work=work, store=store))
        if list_key(
            folder=folder.resolve().parent, key=author.key.public, holder=", ".join(study.plan.authors),
            now=author.now(),
        ):  # fmt: skip
            log.print(f"listed a new key, whose private part is in {private_key_file()}", markup=False, soft_wrap=True)
        return f"registered {statement.study}, {statement.signed:%Y-%m-%d %H:%M:%S} UTC; publish it before the runs"

    out.print(_reporting(signed), markup=False, highlight=False, soft_wrap=True)


@app.command()
def run(
    folder: FolderArgument,
    seeds: Annotated[str, typer.Option(help="The only seeds to run, such as 0-4; default: all.")] = "",
    work: WorkOption = None,
    store: StoreOption = "",
    threads: Annotated[int, typer.Option(min=1, help="Number of torch threads.")] = 1,
) -> None:
    """Measure the runs of a registered study that are missing, and sign their scores.

    Refuses other code or data than the registered ones, unless a deviation is declared.
    """
    study = _study(folder)
    author = _author(study)

    def added() -> int:
        import torch

        from evaluator.studies.registered.conduct import run_all
        from evaluator.training.runs import seeds_of

        torch.set_num_threads(threads)
        runner = _runner(study, work=work, store=store)
        if runner is None:
            raise usage_error("the plan names no runner: add scores with `planarena study add`")
        wanted = list(seeds_of(seeds)) if seeds else []
        return run_all(author=author, study=study, runner=runner, seeds=wanted, say=log.print)

    out.print(f"{_reporting(added)} runs added", markup=False, highlight=False)


@app.command()
def add(
    folder: FolderArgument,
    scores: Annotated[Path, typer.Argument(help="JSON object with the score of each task.")],
    arm: ArmOption,
    seed: SeedOption,
    repeated: Annotated[bool, typer.Option("--repeated", help="The run is there already; both are kept.")] = False,
) -> None:
    """Sign scores that were measured elsewhere, as a run of a registered study."""
    study = _study(folder)
    author = _author(study)

    def signed() -> None:
        from evaluator.studies.registered.conduct import add_run
        from evaluator.studies.registered.files import json_of

        found = json_of(scores.resolve().parent, scores.name)
        if not isinstance(found, dict) or any(isinstance(one, bool | str | list | dict) for one in found.values()):
            raise usage_error(f"{scores} is no object with a score for each task")
        values = {task: float(score) for task, score in found.items() if isinstance(score, int | float)}
        runner = _runner(study, work=None, store="")
        add_run(author=author, study=study, arm=arm, seed=seed, scores=values, repeated=repeated, runner=runner)

    _reporting(signed)
    out.print(f"added {arm} of seed {seed}", markup=False, highlight=False)


@app.command()
def deviate(
    folder: FolderArgument,
    concern: Annotated[str, typer.Option(help="What deviates: code, data, plan or runs.")],
    reason: Annotated[str, typer.Option(help="Why, in a sentence; it is published.")],
    plan: Annotated[Path | None, typer.Option(help="The changed plan, if the plan deviates.")] = None,
    work: WorkOption = None,
    store: StoreOption = "",
) -> None:
    """Declare a deviation from what was registered. Figures are reported with it and without."""
    from evaluator.studies.registered.statements import Concern

    if concern not in get_args(Concern):
        raise usage_error(f"--concern: there is no {concern!r}; there are: {', '.join(get_args(Concern))}")
    study = _study(folder)
    author = _author(study)

    def declared() -> None:
        from evaluator.studies.registered.conduct import deviate as declare
        from evaluator.studies.registered.files import read

        changed = None if plan is None else read(plan.resolve().parent, plan.name)
        runner = _runner(study, work=work, store=store) if concern == "data" else None
        declare(author=author, study=study, concern=concern, reason=reason, plan=changed, runner=runner)  # type: ignore[arg-type]

    _reporting(declared)
    out.print(f"declared a deviation of {concern}", markup=False, highlight=False)


@app.command()
def close(
    folder: FolderArgument,
    unregistered: Annotated[
        bool, typer.Option("--unregistered", help="Close a study that was never registered; it says so.")
    ] = False,
) -> None:
    """Run the stated analysis over the scores, and sign its figures.

    Refuses missing runs and undeclared changes of plan, tasks, scores or analysis.
    """
    study = _study(folder)
    author = _author(study, create=unregistered)

    def signed() -> str:
        from evaluator.studies.registered.conduct import close as closed
        from evaluator.studies.registered.keys import list_key

        statement = closed(author=author, study=study, unregistered=unregistered)
        holder = ", ".join(study.plan.authors)
        list_key(folder=folder.resolve().parent, key=author.key.public, holder=holder, now=author.now())
        return f"closed {statement.study} with {statement.deviations} deviations; planarena study tables writes it"

    out.print(_reporting(signed), markup=False, highlight=False, soft_wrap=True)


@app.command()
def verify(
    folder: Annotated[Path, typer.Argument(help="Folder of a study, or of several.")],
    documents: DocumentsOption = None,
    key: KeyOption = "",
    as_json: JsonFlag = False,
) -> None:
    """Check signatures, files and figures of studies, and the tables of documents.

    The same as `planarena verify FOLDER`.
    """
    from evaluator.client.verify.report import Report
    from evaluator.client.verify.studies import check_studies

    report = Report(address=str(folder))
    check_studies(folder=folder, documents=documents, key=key.strip(), report=report)
    sys.stdout.write(json.dumps(report.as_json(), indent=1) + "\n" if as_json else report.as_text())
    raise typer.Exit(report.exit_code)


@app.command()
def tables(
    folder: Annotated[Path, typer.Argument(help="Folder of a study, or of several.")],
    documents: DocumentsOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Print the tables of studies, or write them into the documents that have their blocks."""
    from evaluator.studies.registered.files import StudyError
    from evaluator.studies.registered.keys import listed_keys
    from evaluator.studies.registered.tables import STATUS, block, studies_in, with_blocks

    try:
        generated = {
            (study.plan.name, key): block(study=study, chain=study.chain(listed_keys(study.path.parent)), key=key)
            for study in studies_in(folder)
            for key in (STATUS, *(table.key for table in study.plan.tables))
        }
    except StudyError as error:
        raise usage_error(error) from None
    if as_json:
        print_json([{"study": study, "block": key, "markdown": text} for (study, key), text in generated.items()])
    elif documents is None:
        for (study, key), text in generated.items():
            sys.stdout.write(f"{study} {key}\n\n{text}\n\n")
    else:
        for path in sorted(documents.rglob("*.md")):
            before = path.read_text(encoding="utf-8")
            if (after := with_blocks(before, generated=generated)) != before:
                path.write_text(after, encoding="utf-8")
                out.print(f"written: {path}", markup=False, highlight=False, soft_wrap=True)


def _study(folder: Path) -> "StudyFolder":
    from evaluator.studies.registered.files import StudyError
    from evaluator.studies.registered.folder import StudyFolder

    study = StudyFolder(folder)
    try:
        name = study.plan.name
    except StudyError as error:
        raise usage_error(error) from None
    if folder.resolve().name != name:
        raise usage_error(f"the folder of the study {name} must have its name, not {folder.resolve().name}")
    return study


def _author(study: "StudyFolder", *, create: bool = False) -> "Author":
    from evaluator.studies.registered.conduct import Author
    from evaluator.studies.registered.keys import listed_keys, private_key, private_key_file

    def found() -> "Author":
        key = private_key(private_key_file(), create=create)
        return Author(key=key, trusted=listed_keys(study.path.resolve().parent))

    return _reporting(found)


def _runner(study: "StudyFolder", *, work: Path | None, store: str) -> "Runner | None":
    """The runner that the plan names."""
    plan = study.plan
    if plan.runner is None:
        return None
    if plan.runner.name != "task-feedback":
        raise usage_error(f"there is no runner {plan.runner.name!r}; there are: task-feedback")
    from evaluator.openagi.training.registered import Settings, TaskFeedbackRunner

    folder = work or Path(".data/studies") / plan.name
    return TaskFeedbackRunner(Settings.of(plan.runner.settings), work=folder, store=store)


def _reporting(work: Callable[[], Result]) -> Result:
    """Do the work, and report what is refused."""
    from evaluator.studies.registered.files import StudyError

    try:
        return work()
    except StudyError as error:
        log.print(f"planarena: {error}", style="red", markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(ExitCode.CHECK_FAILED) from None
    except ValueError as error:
        raise usage_error(error) from None

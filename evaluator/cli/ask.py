"""The command `planarena ask`: one request, whose plan runs as a tree in the terminal."""

import base64
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.live import Live
from rich.text import Text
from rich.tree import Tree

from evaluator.client.api import URL_VARIABLE, Client
from evaluator.client.errors import ClientError
from evaluator.client.options import PatienceOption, client_of
from evaluator.client.output import exit_codes, say
from evaluator.client.runs import AGAIN, NewRun
from evaluator.core.commands.exit_codes import ExitCode
from evaluator.core.commands.listing import printable
from evaluator.core.commands.options import VerboseOption, writable_folder
from evaluator.core.commands.usage import chosen_suite, out, usage_error, write_bytes
from evaluator.core.marks import Mark, MarkError, MarkKind, placed
from evaluator.core.process import as_printable_json
from evaluator.core.suites.registry import executed_suites, preferred_first
from evaluator.core.values import PICTURES, Artefact, MediaType, Value, decode
from evaluator.workbench.events import Ending
from evaluator.workbench.files import FileRefusedError, UploadedFile, read_upload
from evaluator.workbench.saving import Fetch, files_of_run
from evaluator.workbench.tree import ENDINGS, RunTree, StepState, TreeStep, Values

if TYPE_CHECKING:
    from evaluator.execution.engine.store import Store

LOCAL = "local"
_CODES = {
    Ending.MADE: ExitCode.PASSED, Ending.PARTLY: ExitCode.CHECK_FAILED, Ending.DECLINED: ExitCode.CHECK_FAILED,
    Ending.NO_PLAN: ExitCode.PLANNER_FAULT, Ending.FAILED: ExitCode.INFRASTRUCTURE,
}  # fmt: skip
_STYLES = {StepState.WAITS: "dim", StepState.FAILED: "red", StepState.SKIPPED: "yellow"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """A run that is going on."""

    suite: str
    """Slug of the suite whose tools it may call."""
    events: Iterator[Mapping[str, Any]]
    values: Values
    fetch: Fetch


# Long: one line for each option.
def ask(
    request: Annotated[str, typer.Argument(help="The request in words; it names each file as it is called.")],
    files: Annotated[
        list[str] | None,
        typer.Option("--file", metavar="FILE", help="A file of the request: PATH or NAME=PATH; may be repeated."),
    ] = None,
    points: Annotated[
        list[str] | None,
        typer.Option(
            "--point", metavar="NAME:X,Y", help="A point in a picture, in pixels, as point-1; may be repeated."
        ),
    ] = None,
    boxes: Annotated[
        list[str] | None,
        typer.Option("--box", metavar="NAME:X,Y,X,Y", help="Two corners in a picture, as box-1; may be repeated."),
    ] = None,
    planner: Annotated[
        str,
        typer.Option(
            help="A bundled planner's name or STRATEGY[:MODEL]; locally also a URL, on a site also a planner's number; "
            "default: the first bundled one.",
            show_default=False,
        ),
    ] = "",
    suite: Annotated[
        str, typer.Option(help="Suite that gives the tools, by its slug; default: that of the workbench.",
                          show_default=False)
    ] = "",
    site: Annotated[
        str,
        typer.Option(metavar="URL|local", envvar=URL_VARIABLE, help="The site whose workers run it, or this machine."),
    ] = LOCAL,
    profile: Annotated[str, typer.Option(help="Profile of the local experts.")] = "lilliput",
    store: Annotated[str, typer.Option(help="Local store of artefacts, kept between runs; empty: in memory.")] = "",
    device: Annotated[str, typer.Option(help="Torch device of the local experts.")] = "cpu",
    timeout: Annotated[float, typer.Option(min=0.1, help="Timeout of an endpoint's answer, in seconds.")] = 30.0,
    patience: PatienceOption = 60.0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print each event as a line of JSON, and nothing else, on standard output.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", metavar="FOLDER", help="Write events, plan, files and results to FOLDER.",
            callback=writable_folder,
        ),
    ] = None,
    verbose: VerboseOption = False,  # noqa: ARG001 - read by `evaluator.cli.main.main`
) -> None:  # fmt: skip
    """Ask a planner one request, and watch its plan run: here, or on a site with PLANARENA_TOKEN.

    The steps fill in as they end, with inputs, outputs and times. Ctrl-C cancels the run.

    Exit code 0 if everything was done, 1 if the planner declined or a step failed, 2 for bad usage, 3 if there is no
    plan that can run, 4 if the planner, an expert or the site could not be reached or the run was cancelled.
    """
    given = [_upload(text) for text in files or ()]
    marks = [
        *(_mark(MarkKind.POINT, text) for text in points or ()), *(_mark(MarkKind.BOX, text) for text in boxes or ())
    ]  # fmt: skip
    with exit_codes():
        opening = (
            _locally(request, files=given, marks=marks, planner=planner, suite=suite, profile=profile, store=store,
                     device=device, timeout=timeout)
            if site == LOCAL
            else _on_site(request, files=given, marks=marks, planner=planner, suite=suite, url=site, patience=patience)
        )  # fmt: skip
        tree, events = RunTree(request=request, values=lambda _: None), list[Mapping[str, Any]]()
        with opening as run:
            tree = RunTree(request=request, values=run.values)
            try:
                _follow(run, tree=tree, kept=events, as_json=as_json)
            except KeyboardInterrupt:
                say("interrupted; the run was cancelled.")
                raise typer.Exit(ExitCode.INTERRUPTED) from None
            finally:
                if output is not None:
                    for path, data in files_of_run(request=request, suite=run.suite, events=events, fetch=run.fetch):
                        write_bytes(data, file=output / path)
    raise typer.Exit(_code(tree))


def _code(tree: RunTree) -> ExitCode:
    if tree.ending is None:
        return ExitCode.INFRASTRUCTURE
    if tree.ending is Ending.FAILED and tree.has_run_steps:
        return ExitCode.CHECK_FAILED
    return _CODES[tree.ending]


def _upload(text: str) -> UploadedFile:
    name, equals, place = text.partition("=")
    path = Path(place if equals else text)
    try:
        return UploadedFile(name=name if equals else path.name, data=path.read_bytes())
    except OSError as error:
        raise usage_error(f"--file {text}: {path} cannot be read: {error.strerror}") from None


def _mark(kind: MarkKind, text: str) -> Mark:
    """The mark of an option such as `cat.png:12,30`."""
    picture, _, numbers = text.rpartition(":")
    sides = numbers.split(",")
    if not picture or len(sides) % 2 or not all(side.strip().isdecimal() and len(side) < 8 for side in sides):
        raise usage_error(f"--{kind} is NAME:X,Y with the name of a picture and whole numbers, not {text!r}")
    try:
        places = [(int(x), int(y)) for x, y in zip(sides[::2], sides[1::2], strict=True)]
        return Mark(kind=kind, picture=picture, at=tuple(places))
    except MarkError as error:
        raise usage_error(f"--{kind} {text}: {error}") from None


@contextmanager
def _locally(
    request: str, *, files: Sequence[UploadedFile], marks: Sequence[Mark], planner: str, suite: str, profile: str,
    store: str, device: str, timeout: float,
) -> Iterator[_Run]:  # fmt: skip
    """A run in this process, by the code of workers."""
    from evaluator.cli.chosen_planner import chosen_planner
    from evaluator.episodes.base import SettingError
    from evaluator.episodes.executed import profile_of
    from evaluator.execution.engine.opening import open_store
    from evaluator.execution.engine.pool import ExpertPool
    from evaluator.execution.engine.run import Engine
    from evaluator.execution.engine.store import MemoryStore
    from evaluator.planners.driving import StrategyPlanner
    from evaluator.planners.named import planners_of_requests
    from evaluator.workbench.running import RunRequest, run

    chosen = chosen_suite(suite or preferred_first(executed_suites())[0])
    try:
        experts = profile_of(suite=chosen.slug, name=profile)
        read = {file.name: read_upload(file) for file in files}
        values = {name: (file.type, file.value) for name, file in read.items()}
        sizes = {name: file.size for name, file in read.items() if file.size}
        marked = placed(marks, files=values, sizes=sizes)
    except (SettingError, FileRefusedError, MarkError) as error:
        raise usage_error(error) from None
    bundled = planners_of_requests(chosen.slug)
    if not planner and not bundled:
        raise usage_error(f"no bundled planner answers requests with the tools of {chosen.slug}; give --planner")
    asked = chosen_planner(name=planner or bundled[0].name, suite=chosen, timeout=timeout)
    kept: Store = open_store(where=store, data=Path(store)) if store else MemoryStore()
    engine = Engine(pool=ExpertPool(profile=experts, device=device), store=kept, salt=chosen.slug)
    asking = RunRequest(text=request, files={**values, **marked.resources}, marks=marked.given, sizes=sizes)
    events = run(asking, planner=asked, suite=chosen, offered=frozenset(experts.experts), engine=engine)
    try:
        yield _Run(
            suite=chosen.slug,
            events=(event.to_json() for event in events),
            values=lambda artefact: _value(artefact, fetch=lambda digest: kept.get(digest).data),
            fetch=lambda digest: kept.get(digest).data,
        )
    finally:
        if isinstance(asked, StrategyPlanner):
            asked.close()


@contextmanager
def _on_site(
    request: str,
    *,
    files: Sequence[UploadedFile],
    marks: Sequence[Mark],
    planner: str,
    suite: str,
    url: str,
    patience: float,
) -> Iterator[_Run]:
    """A run on a site, which is cancelled unless it has ended when this block does."""
    with client_of(url=url, patience=patience, needs_token=True) as client:
        sent = [{"name": file.name, "content": base64.b64encode(file.data).decode()} for file in files]
        started = client.start_run(
            NewRun(text=request, planner=planner, suite=suite, files=sent, marks=[mark.to_json() for mark in marks])
        )
        say(client.address(started.page))
        try:
            yield _Run(
                suite=started.suite,
                events=_until_end(client, run=started.id),
                values=lambda artefact: _value(artefact, fetch=client.artefact),
                fetch=client.artefact,
            )
        except BaseException:
            _cancel(client, run=started.id)
            raise


def _until_end(client: Client, *, run: str) -> Iterator[Mapping[str, Any]]:
    yield from client.run_events(run)
    if (after := client.run(run)).state == "cancelled":
        say(f"the run was cancelled: {after.reason}")


def _cancel(client: Client, *, run: str) -> None:
    try:
        client.cancel_run(run)
    except ClientError as error:
        say(f"the run could not be cancelled ({error}); the site cancels it when nobody has followed it for a minute.")


def _value(artefact: Mapping[str, Any], *, fetch: Fetch) -> Value | None:
    """Texts and findings; pictures are not fetched for a line of text."""
    if artefact["media_type"] in PICTURES:
        return None
    try:
        data = fetch(artefact["digest"])
        return None if data is None else decode(Artefact(data=data, media_type=MediaType(artefact["media_type"])))
    except (ClientError, ValueError, OSError):
        return None


def _follow(run: _Run, *, tree: RunTree, kept: list[Mapping[str, Any]], as_json: bool) -> None:
    live = Live(_drawn(tree), console=out) if out.is_terminal and not as_json else None
    shown: AbstractContextManager[object] = live or nullcontext()
    with shown:
        for event in run.events:
            if event["kind"] == AGAIN:
                kept.clear()
            else:
                kept.append(event)
            lines = tree.take(event)
            if as_json:
                sys.stdout.write(as_printable_json(json.dumps(event, ensure_ascii=False) + "\n"))
                sys.stdout.flush()
            elif live is not None:
                live.update(_drawn(tree))
            else:
                for line in lines:
                    sys.stdout.write(f"{printable(line)}\n")
                sys.stdout.flush()


def _drawn(tree: RunTree) -> Tree:
    def text(line: str, style: str = "") -> Text:
        return Text(printable(line), style=style)

    root = Tree(text(tree.request, "bold"))
    for name, kind in tree.files.items():
        root.add(text(f"{name}: {kind}", "dim"))
    root.add(text(tree.planning or "waits for a worker", "" if tree.planning else "dim"))
    for step in tree.steps.values():
        _draw_step(root, step=step)
    if tree.ending is not None:
        end = root.add(text(f"{ENDINGS[tree.ending]}: {tree.text}", "bold"))
        for line in (*tree.details, *tree.results):
            end.add(text(line))
    return root


def _draw_step(root: Tree, *, step: TreeStep) -> None:
    branch = root.add(Text(printable(step.head), style=_STYLES.get(step.state, "green")))
    for arrow, values in (("<-", step.inputs), ("->", step.outputs)):
        for name, value in values.items():
            branch.add(
                Text(printable(f"{arrow} {name}: {value}"), style="dim" if step.state is StepState.WAITS else "")
            )
    if step.why:
        branch.add(Text(printable(step.why)))

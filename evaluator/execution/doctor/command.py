"""The command `planarena doctor`."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evaluator.core.commands.exit_codes import ExitCode
from evaluator.core.commands.listing import Listing
from evaluator.core.commands.options import JsonFlag, OutputFile
from evaluator.core.commands.usage import out, print_json, usage_error, write_json
from evaluator.execution.commands import chosen_profile, report_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evaluator.execution.doctor.examining import Examination


# Long: one line for each option.
def doctor(
    profile: Annotated[str, typer.Option(help="Name of the profile.")] = "lilliput",
    device: Annotated[str, typer.Option(help="Torch device, such as cuda.")] = "cpu",
    random_weights: Annotated[
        bool, typer.Option("--random-weights", help="Build checkpoints of the released sizes instead of fetched ones.")
    ] = False,
    small: Annotated[
        bool, typer.Option("--small", help="With --random-weights: of a few thousand parameters.")
    ] = False,
    tools: Annotated[str, typer.Option(help="Only the experts of these tools, separated by commas.")] = "",
    cpu_parameters: Annotated[
        int, typer.Option(min=0, help="Compare experts with at most this many parameters with the CPU.")
    ] = 130_000_000,
    seconds: Annotated[int, typer.Option(min=0, help="Begin no expert after this time; 0: no limit.")] = 0,
    whole: Annotated[bool, typer.Option("--whole", help="All steps and long answers of the profile.")] = False,
    folder: Annotated[
        Path | None, typer.Option(help="Build random weights in this folder, and delete them.", show_default=False)
    ] = None,
    as_json: JsonFlag = False,
    output: OutputFile = None,
) -> None:
    """Load every expert of a profile on a device and check that its results repeat.

    Each expert runs a batch twice, the batch in reversed order, and one item alone and in company; all bytes must be
    equal. On a GPU, experts of moderate size are also compared with the CPU, within the tolerance that the profile
    declares. Inputs are made up.

    Exit code 0 if everything holds, 1 if something does not or was not examined, 2 for bad usage.
    """
    from evaluator.execution.doctor.examining import Examination
    from evaluator.execution.doctor.profiles import OwnWeights, RandomWeights, examine_profile, tools_with_weights
    from evaluator.execution.experts.devices import device_class, driver_version, free_bytes
    from evaluator.execution.random_weights.building import Size

    chosen = chosen_profile(profile)
    names = [name.strip() for name in tools.split(",") if name.strip()] or tools_with_weights(chosen)
    if unknown := [name for name in names if name not in chosen.experts]:
        raise usage_error(f"--tools: profile {profile} has no expert for {unknown[0]!r}")
    if random_weights and not chosen.checkpoints:
        raise usage_error(f"--random-weights: the weights of {profile} are shipped")
    if small and not random_weights:
        raise usage_error("--small needs --random-weights")
    try:
        conditions = {**device_class(device), **{f"{name}_bytes": size for name, size in free_bytes(device).items()}}
    except (RuntimeError, AssertionError, ValueError) as error:
        raise usage_error(f"--device {device}: {error}") from None
    found: list[Examination] = []
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        built = RandomWeights(
            profile=chosen, folder=Path(scratch), device=device, size=Size.SMALL if small else Size.RELEASED,
            report=lambda name: report_line(f"building {name}"),
        )  # fmt: skip
        for examination in examine_profile(
            profile=chosen, weights=built if random_weights else OwnWeights(chosen), tools=names, device=device,
            cpu_parameters=cpu_parameters, seconds=seconds or None, shortens=not whole,
        ):  # fmt: skip
            found.append(examination)
            report_line(f"{examination.tool}: {_verdict(examination)}")
    holds = all(examination.is_right for examination in found)
    report = {
        "profile": chosen.name, "weights": f"random-{built.size}" if random_weights else "own", "device": conditions,
        "driver": driver_version(device) or None, "holds": holds,
        "experts": [examination.to_json() for examination in found],
    }  # fmt: skip
    write_json(report, printed=False, file=output)
    if as_json:
        print_json(report)
    else:
        print_examinations(found, title=f"profile {profile} on {device}")
        right = sum(examination.is_right for examination in found)
        out.print(f"{right} of {len(found)} experts are as the profile declares", highlight=False)
    if not holds:
        raise typer.Exit(ExitCode.CHECK_FAILED)


def _verdict(found: "Examination") -> str:
    return found.problem or ("as declared" if found.is_right else "not as declared")


def print_examinations(found: "Sequence[Examination]", *, title: str) -> None:
    """Print a table with a row for each expert."""
    table = Listing(
        "tool", "batch", "load s", "run s", "weights MB", "peak MB", "repeatable", "position", "padding", "to CPU",
        "tolerance", "problem", title=title, prose="problem",
    )  # fmt: skip
    for one in found:
        table.add_row(
            one.tool, str(one.batch_size), _number(one.load_seconds), _number(one.run_seconds),
            _megabytes(one.weights_bytes), _megabytes(one.peak_bytes), _word(one.repeatable), _word(one.position),
            _word(one.padding), _number(one.difference, digits=4), _number(one.tolerance), one.problem,
        )  # fmt: skip
    table.show(out)


def _number(value: float | None, *, digits: int = 2) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _megabytes(value: int | None) -> str:
    return "-" if value is None else f"{value / 1e6:,.0f}"


def _word(value: bool | None) -> str:
    return {None: "-", True: "yes", False: "no"}[value]

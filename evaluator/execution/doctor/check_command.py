"""The command `planarena check expert`."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from evaluator.core.commands.exit_codes import ExitCode
from evaluator.core.commands.listing import Listing
from evaluator.core.commands.options import JsonFlag
from evaluator.core.commands.usage import out, print_json, usage_error
from evaluator.execution.commands import chosen_profile

if TYPE_CHECKING:
    from evaluator.core.expert import ExpertSpec


def check_expert(
    name: Annotated[str, typer.Argument(help="Name of the expert's entry point.")],
    profile: Annotated[str, typer.Option(help="Name of the profile that uses it.")],
    device: Annotated[str, typer.Option(help="Torch device, such as cuda.")] = "cpu",
    seconds: Annotated[float, typer.Option(min=0, help="Longest time of a full batch.")] = 60,
    megabytes: Annotated[int, typer.Option(min=1, help="Most memory that it may take, beside the device's.")] = 8000,
    as_json: JsonFlag = False,
) -> None:
    """Check an expert of a package: types, equal results, odd inputs, time and memory.

    Every tool of the profile that names the expert is checked, with made-up inputs. The expert runs in this process.

    Exit code 0 if everything holds, 1 if something does not, 2 for bad usage.
    """
    from evaluator.execution.doctor.conformance import conformance
    from evaluator.execution.engine.pool import for_device
    from evaluator.execution.experts.plug_ins import plug_in

    try:
        package = plug_in(name)
    except LookupError as error:
        raise usage_error(error) from None
    specs = list(_specs(name, profile=profile))
    found = {
        spec.tool: list(
            conformance(spec=for_device(spec, device=device), device=device, seconds=seconds, memory=megabytes * 10**6)
        )
        for spec in specs
    }
    holds = all(finding.holds for findings in found.values() for finding in findings)
    if as_json:
        print_json({
            "expert": name, "package": package.package, "version": package.version, "digest": package.digest,
            "holds": holds, "tools": {tool: [asdict(one) for one in findings] for tool, findings in found.items()},
        })  # fmt: skip
    else:
        table = Listing(
            "tool", "check", "holds", "found", title=f"{name} of {package.package} {package.version}", prose="found"
        )
        for tool, findings in found.items():
            for one in findings:
                table.add_row(tool, one.check, "yes" if one.holds else "no", one.detail)
        table.show(out)
    if not holds:
        raise typer.Exit(ExitCode.CHECK_FAILED)


def _specs(name: str, *, profile: str) -> "Iterator[ExpertSpec]":
    """The entries of a profile that name an expert."""
    chosen = chosen_profile(profile)
    tools = [tool for tool, plugged in chosen.plug_ins.items() if plugged.name == name]
    if not tools:
        raise usage_error(f'profile {profile} has no expert with implementation = "{name}"; add one to its file')
    return (chosen.experts[tool] for tool in tools)

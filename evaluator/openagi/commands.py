"""The command of OpenAGI's suite: `planarena profiles build-data`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evaluator.core.commands.usage import out, usage_error
from evaluator.execution.commands import CacheOption, chosen_profile, report_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evaluator.execution.experts.profile import Profile
    from evaluator.openagi.building import Translate


def build_data(
    samples: Annotated[int, typer.Option(min=1, help="Samples of each data set; the release has 100.")] = 100,
    copies: Annotated[
        Path | None, typer.Option("--from", help="Read saved data sets from this folder instead of the hub.")
    ] = None,
    target: Annotated[Path | None, typer.Option("--to", help="Target folder; default: the data folder.")] = None,
    german: Annotated[bool, typer.Option(help="Translate the references with the profile's model.")] = True,
    profile: Annotated[str, typer.Option(help="Profile whose model translates.")] = "paper",
    cache: CacheOption = None,
    device: Annotated[str, typer.Option(help="Torch device of that model.")] = "cpu",
) -> None:
    """Build OpenAGI's data from the public data sets, for `evaluate --profile paper --data hub`."""
    from evaluator.core.expert import ExpertError
    from evaluator.openagi.building import DataError, build
    from evaluator.openagi.data import built_data_folder

    folder = target or built_data_folder()
    try:
        translate = _translator(profile=chosen_profile(profile, cache=cache), device=device) if german else None
        build(target=folder, samples=samples, copies=copies, translate=translate, report=report_line)
    except (DataError, ExpertError) as error:
        raise usage_error(error) from None
    out.print(f"{samples} samples of each data set are in {folder}", markup=False, highlight=False, soft_wrap=True)


def _translator(*, profile: "Profile", device: str) -> "Translate":
    """A function that translates references to German with the profile's model."""
    from evaluator.execution.experts.profile import load_expert

    tool = "Machine Translation"
    if tool not in profile.reference_experts:
        raise usage_error(f"profile {profile.name} has no model for German references; --no-german builds without them")
    expert = load_expert(spec=profile.reference_experts[tool], device=device)

    def translate(texts: "Sequence[str]") -> list[str]:
        return [str(result["text"]) for result in expert.run([{"text": text} for text in texts])]

    return translate

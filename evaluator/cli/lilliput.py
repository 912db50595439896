"""The commands `planarena lilliput ...`: scenes of the miniature world, and training of its models."""

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from evaluator.core.commands.listing import Listing
from evaluator.core.commands.options import JsonFlag, writable
from evaluator.core.commands.usage import out, print_json

if TYPE_CHECKING:
    from evaluator.execution.experts.profile import Profile

Choice = TypeVar("Choice", bound=StrEnum)

app = typer.Typer(no_args_is_help=True)

WEIGHTS = Path(__file__).parents[1] / "miniature" / "weights"


@app.command()
def train(
    models: Annotated[list[str] | None, typer.Argument(help="Models to train; default: all.")] = None,
    work: Annotated[Path, typer.Option(help="Folder of checkpoints and rendered scenes.")] = Path(".data/lilliput"),
    out: Annotated[Path, typer.Option(help="Folder of the trained weights.")] = WEIGHTS,
    steps: Annotated[int | None, typer.Option(help="Number of steps; default: the recipe's.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the initial weights and of the data's order.")] = 0,
    resume: Annotated[bool, typer.Option(help="Continue from the last checkpoint.")] = False,
    stop_after: Annotated[int | None, typer.Option(help="Stop after this step; --resume continues.")] = None,
) -> None:
    """Train models of the miniature world and write their weights."""
    from evaluator.studies.experts.recipes import RECIPES, Order, train
    from evaluator.training.loop import Progress

    unknown = sorted(set(models or ()) - set(RECIPES))
    if unknown:
        raise typer.BadParameter(f"no model {', '.join(unknown)}; there are: {', '.join(RECIPES)}")
    for name in models or list(RECIPES):

        def report(progress: Progress, name: str = name) -> None:
            typer.echo(f"{name} {progress.step}/{progress.steps} loss {progress.loss:.4f} {progress.seconds:.0f} s")

        order = Order(model=name, work=work, weights=out, steps=steps, seed=seed, resume=resume, stop_after=stop_after)
        folder = train(order, report=report)
        typer.echo(f"{name}: stopped early; --resume continues" if folder is None else f"{name}: written to {folder}")


def _one_of(kind: type[Choice], name: str) -> Choice:
    try:
        return kind(name)
    except ValueError:
        raise typer.BadParameter(f"{name!r} is not one of: {', '.join(kind)}") from None


def _secret(seed: str | None) -> str:
    from evaluator.core.suites.hidden import SeedError, checked_seed

    if not seed:
        raise typer.BadParameter("the hidden split needs a secret: set PLANARENA_HIDDEN_SEED")
    try:
        return checked_seed(seed, what="PLANARENA_HIDDEN_SEED")
    except SeedError as error:
        raise typer.BadParameter(str(error)) from None


@app.command()
def scene(
    split: Annotated[str, typer.Option(help="train, validation, public or hidden.")],
    index: Annotated[int, typer.Option(min=0, help="Index of the scene.")],
    out: Annotated[Path, typer.Option(help="PNG file to write.", callback=writable)],
    degradation: Annotated[list[str] | None, typer.Option(help="Degradation to apply; may be repeated.")] = None,
    hidden_seed: Annotated[
        str | None, typer.Option(envvar="PLANARENA_HIDDEN_SEED", help="Secret of the hidden split.")
    ] = None,
) -> None:
    """Draw a scene and print what it shows."""
    from evaluator.miniature.degradations import Degradation
    from evaluator.miniature.lilliput_samples import degraded_image
    from evaluator.miniature.scenes import draw_scene
    from evaluator.miniature.seeds import Split

    chosen_split = _one_of(Split, split)
    degradations = frozenset(_one_of(Degradation, name) for name in degradation or ())
    secret = _secret(hidden_seed) if chosen_split is Split.HIDDEN else None
    record = draw_scene(split=chosen_split, index=index, hidden_seed=secret)
    degraded_image(split=chosen_split, index=index, degradations=degradations, hidden_seed=secret).save(out)
    others = ", ".join(thing.name for thing in record.things[1:]) or "nothing else"
    typer.echo(f"{record.label} on {record.background}, with {others}")


@app.command()
def quality(
    profile: Annotated[str, typer.Option(help="Profile of the models.")] = "lilliput",
    count: Annotated[int, typer.Option(min=1, help="Number of validation scenes.")] = 256,
    cards: Annotated[bool, typer.Option(help="Also write the models' cards.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Measure each model, and the gain of each restoration step, on held-out scenes."""
    from evaluator.execution.experts.profile import load_profile
    from evaluator.studies.experts.quality.cards import record_quality, write_card
    from evaluator.studies.experts.quality.measure import measure_quality

    loaded = load_profile(profile)
    measured = measure_quality(profile=loaded, count=count)
    if as_json:
        print_json(asdict(measured))
    else:
        typer.echo("\n".join(measured.lines()))
    if cards:
        for folder in _shipped(loaded):
            record_quality(folder=folder, quality=measured.of(folder.name))
            write_card(folder)


@app.command()
def cards() -> None:
    """Write the cards of the shipped experts and scorers again, from what is recorded beside their weights."""
    from evaluator.execution.experts.profile import load_profile
    from evaluator.studies.experts.quality.cards import write_card

    for folder in _shipped(load_profile("lilliput")):
        write_card(folder)


def _shipped(profile: "Profile") -> list[Path]:
    """The folders of a profile's weights, each once."""
    from evaluator.execution.experts.profile import NO_WEIGHTS

    experts = [spec.path for spec in profile.experts.values() if spec.weights_digest != NO_WEIGHTS]
    return list(dict.fromkeys([*experts, *(spec.path for spec in profile.scorers.values())]))


@app.command()
def contamination(
    split: Annotated[str, typer.Option(help="validation, public or hidden.")] = "public",
    samples: Annotated[int, typer.Option(min=1, help="Number of samples.")] = 1000,
    only: Annotated[list[str] | None, typer.Option(help="Kind of texts; may be repeated; default: all.")] = None,
    hidden_seed: Annotated[
        str | None, typer.Option(envvar="PLANARENA_HIDDEN_SEED", help="Secret of the hidden split.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Count the texts of a split that the shipped experts read in training, word for word."""
    from evaluator.miniature.seeds import Split
    from evaluator.studies.experts.quality.contamination import KINDS, contamination

    chosen = _one_of(Split, split)
    secret = _secret(hidden_seed) if chosen is Split.HIDDEN else None
    unknown = sorted(set(only or ()) - set(KINDS))
    if unknown:
        raise typer.BadParameter(f"no kind of texts {unknown[0]!r}; there are: {', '.join(KINDS)}")
    shares = contamination(split=chosen, count=samples, hidden_seed=secret, only=only or ())
    if as_json:
        print_json([{**asdict(share), "share": share.share} for share in shares])
        return
    table = Listing("texts", "seen in training", "different ones in training")
    for share in shares:
        table.add_row(share.texts, f"{share.share:.1%}", f"{share.distinct:,}")
    table.show(out)

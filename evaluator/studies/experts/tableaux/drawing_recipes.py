"""Recipes of the experts that draw along maps and instructions."""

from evaluator.studies.experts import text_to_image
from evaluator.studies.experts.recipe import Recipe
from evaluator.studies.experts.tableaux import guided_drawing, picture_editing
from evaluator.studies.experts.tableaux.data import TABLEAUX
from evaluator.training.loop import Schedule

DRAWING_RECIPES: tuple[Recipe, ...] = (
    Recipe(
        name=guided_drawing.NAME,
        title="Drawing along maps: ControlNet on the Stable Diffusion of Text to Image Generation",
        build=guided_drawing.build,
        objective=lambda bank, weights: guided_drawing.GuidedDrawingObjective(weights=weights),  # noqa: ARG005
        schedule=Schedule(steps=2600, learning_rate=1e-3),
        export=guided_drawing.export,
        texts=0,
        pictures=False,
        begin=guided_drawing.begin,
        needs=(text_to_image.NAME,),
        data=(
            f"{TABLEAUX:,} tableaux, figures and plain scenes with their captions, and maps of eight kinds from the "
            "ground truth, a third each of them blurred, noisy or with missing patches"
        ),
        limits=(
            "keeps to an outline within about two pixels, and rounds off corners; parts that touch run together; parts "
            "that the text does not name take any colour; the pose decides over a figure's place better than the text "
            "over its background; the networks around it never saw a figure, whose limbs are soft"
        ),
    ),
    Recipe(
        name=picture_editing.NAME,
        title="Editing by instruction: InstructPix2Pix on the Stable Diffusion of Text to Image Generation",
        build=picture_editing.build,
        objective=lambda bank, weights: picture_editing.PictureEditingObjective(weights=weights),  # noqa: ARG005
        schedule=Schedule(steps=2500, learning_rate=1e-3),
        export=picture_editing.export,
        texts=0,
        pictures=False,
        begin=picture_editing.begin,
        needs=(text_to_image.NAME,),
        data=(
            f"{picture_editing.EDITS:,} tableaux, figures and plain scenes with an instruction each "
            "(another colour for a part, no such part, "
            "another part in its place, another background) and the exact picture that follows"
        ),
        limits=(
            "reads instructions of its grammar only; what does not change is redrawn too, as softly as the autoencoder "
            "leaves it"
        ),
    ),
)
"""In the order of training."""

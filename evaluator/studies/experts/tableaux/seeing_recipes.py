"""Recipes of the experts that find things in tableaux."""

from evaluator.studies.experts.recipe import Recipe
from evaluator.studies.experts.tableaux import detection, grounding, segmentation
from evaluator.training.loop import Schedule

_TABLEAUX = "24,000 training tableaux: a third with things that overlap, a third with figures, a third plain scenes"

SEEING_RECIPES: tuple[Recipe, ...] = (
    Recipe(
        name=detection.NAME,
        title="Object detection in tableaux: RT-DETR",
        build=detection.build,
        objective=lambda bank, weights: detection.TableauDetectionObjective(),  # noqa: ARG005
        schedule=Schedule(steps=4200, learning_rate=8e-4),
        export=detection.export,
        texts=0,
        pictures=False,
        begin=detection.begin,
        data=f"{_TABLEAUX}; begins with the weights of `{detection.BEGINS_WITH}`",
        limits="finds the eight shapes and the stick figure in eight colours and nothing else",
    ),
    Recipe(
        name=segmentation.NAME,
        title="Segmentation by prompts: Segment Anything",
        build=segmentation.build,
        objective=lambda bank, weights: segmentation.SegmentationObjective(),  # noqa: ARG005
        schedule=Schedule(steps=2100, learning_rate=1e-3),
        export=segmentation.export,
        texts=0,
        pictures=False,
        begin=segmentation.begin,
        needs=(detection.NAME,),
        data=f"{_TABLEAUX}; parts named by boxes, one to three points, or rough masks; begins with three layers of "
        f"`{detection.NAME}`",
        limits="finds whole parts, not parts of parts; one mask for each prompt",
    ),
    Recipe(
        name=grounding.NAME,
        title="Visual grounding: OWL-ViT",
        build=grounding.build,
        objective=lambda bank, weights: grounding.GroundingObjective(),  # noqa: ARG005
        schedule=Schedule(steps=3600, learning_rate=1.2e-3),
        export=grounding.export,
        texts=0,
        pictures=False,
        begin=grounding.begin,
        data=f"{_TABLEAUX}; begins with the weights of `{grounding.BEGINS_WITH}`",
        limits="understands names such as `red star`, `star` and `red thing`, with or without an article; says nothing "
        "about places",
    ),
)
"""In the order of training."""

"""Recipes of the experts that make maps of tableaux, and of those that watch clips."""

from evaluator.miniature.scenes import SIZE
from evaluator.studies.experts.recipe import Recipe
from evaluator.studies.experts.tableaux import clip_captions, depth, motion, pose, soft_edges
from evaluator.training.export import export_transformers
from evaluator.training.loop import Schedule

_TABLEAUX = "24,000 training tableaux: things, figures among things, and plain scenes in equal parts"

MAP_RECIPES: tuple[Recipe, ...] = (
    Recipe(
        name=motion.NAME,
        title="Video Classification: VideoMAE",
        build=motion.build,
        objective=lambda bank, weights: motion.MotionObjective(),  # noqa: ARG005
        schedule=Schedule(steps=2000, learning_rate=1.5e-3, checkpoint_every=100),
        export=motion.export,
        pictures=False,
        texts=0,
        begin=motion.begin,
        data="12,000 training clips; each patch also learnt whether it shows the mover, its looks, and its track",
        limits="knows the sixteen motions of this world",
    ),
    Recipe(
        name=soft_edges.NAME,
        title="Soft edges: holistically-nested edge network",
        build=soft_edges.build,
        objective=lambda bank, weights: soft_edges.EdgeObjective(),  # noqa: ARG005
        schedule=Schedule(steps=700, learning_rate=2e-3, checkpoint_every=100),
        export=soft_edges.export,
        pictures=False,
        texts=0,
        data=f"{_TABLEAUX}, with the outlines of their parts",
        limits="traces where things end, not their textures, and knows the things of this world only",
    ),
    Recipe(
        name=depth.NAME,
        title="Depth estimation: DPT",
        build=depth.build,
        objective=lambda bank, weights: depth.DepthObjective(),  # noqa: ARG005
        schedule=Schedule(steps=1100, learning_rate=1e-3, checkpoint_every=100),
        export=export_transformers,
        pictures=False,
        texts=0,
        begin=depth.begin,
        data=f"{_TABLEAUX}, with the nearness of each pixel; the encoder begins as that of `classification`",
        limits="takes what stands lower for nearer, as this world does; each thing is flat",
    ),
    Recipe(
        name=pose.COARSE,
        title="Pose estimation at low resolution: ViTPose",
        build=pose.build_coarse,
        objective=lambda bank, weights: pose.PoseObjective(size=SIZE),  # noqa: ARG005
        schedule=Schedule(steps=2000, learning_rate=1e-3, checkpoint_every=100),
        export=pose.export,
        pictures=False,
        texts=0,
        begin=pose.begin_coarse,
        shipped=False,
    ),
    Recipe(
        name=pose.NAME,
        title="Pose estimation: ViTPose",
        build=pose.build,
        objective=lambda bank, weights: pose.PoseObjective(),  # noqa: ARG005
        schedule=Schedule(steps=2400, learning_rate=1e-3, checkpoint_every=100),
        export=pose.export,
        pictures=False,
        texts=0,
        begin=pose.begin,
        needs=(pose.COARSE,),
        data=f"{_TABLEAUX}, four of six of them with a figure; each patch also learnt which limbs it shows; begins "
        "with a coarser estimator, and that with the encoder of `classification`",
        limits="finds one stick figure of this world; where there are several it finds at most one",
    ),
    Recipe(
        name=clip_captions.NAME,
        title="Video Captioning: VideoMAE with GPT-2",
        build=clip_captions.build,
        objective=lambda bank, weights: clip_captions.ClipCaptioningObjective(),  # noqa: ARG005
        schedule=Schedule(steps=4000, learning_rate=1.5e-3, checkpoint_every=100),
        export=clip_captions.export,
        pictures=False,
        texts=0,
        begin=clip_captions.begin,
        needs=(motion.NAME,),
        data="12,000 training clips and their captions; begins with the encoder of `video-classification`",
        limits="writes one sentence about the thing that moves, whatever the clip shows",
    ),
)
"""In the order of training."""

import dataclasses

from evaluator.world.seeds import Split
from evaluator.world.tableaux import Motion, draw_clip
from evaluator.world.tableaux.wording import clip_caption
from evaluator.world.vocabulary import Background, Colour, Shape


def record(**looks):
    clip = draw_clip(split=Split.TRAIN, index=0)
    mover = dataclasses.replace(clip.mover, shape=looks["shape"], colour=looks["colour"])
    return dataclasses.replace(clip, mover=mover, motion=looks["motion"], background=looks["background"])


def test_a_caption_names_the_mover_its_motion_and_the_background():
    clip = record(shape=Shape.STAR, colour=Colour.RED, motion=Motion.UP_LEFT, background=Background.GRASS)
    assert clip_caption(clip) == "A red star is rising to the left on a green background."


def test_the_article_follows_the_sound_of_the_colour():
    clip = record(shape=Shape.RING, colour=Colour.ORANGE, motion=Motion.HOPPING, background=Background.NIGHT)
    assert clip_caption(clip) == "An orange ring is hopping on a dark blue background."

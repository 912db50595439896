"""Captions of tableaux."""

import re

from evaluator.world.grammar import caption
from evaluator.world.scenes import draw_scene
from evaluator.world.seeds import Split
from evaluator.world.tableaux import Content, draw_tableau
from evaluator.world.tableaux.captions import tableau_caption
from evaluator.world.tableaux.painting import tableau_of

_SENTENCE = re.compile(
    r"An? [a-z]+ [a-z]+ is( (above|below|to the left of|to the right of) an? [a-z]+ [a-z]+)?"
    r" on an? [a-z ]+ background\."
)


def test_captions_are_sentences_of_the_grammar():
    for content in Content:
        for index in range(60):
            text = tableau_caption(draw_tableau(split=Split.VALIDATION, index=index, content=content))
            assert _SENTENCE.fullmatch(text), text


def test_a_figure_is_named_first():
    for index in range(20):
        record = draw_tableau(split=Split.VALIDATION, index=index, content=Content.FIGURE)
        assert f" {record.figure.name} is" in tableau_caption(record)


def test_nothing_is_said_to_lie_beside_its_own_name():
    for index in range(60):
        record = draw_tableau(split=Split.VALIDATION, index=index, content=Content.THINGS)
        names = [name for name in {part.name for part in record.parts} if name in tableau_caption(record)]
        assert len(names) == min(2, len({part.name for part in record.parts}))


def test_the_caption_of_a_scene_with_two_things_is_the_one_of_the_grammar():
    scenes = (draw_scene(split=Split.VALIDATION, index=index) for index in range(60))
    pairs = [scene for scene in scenes if len(scene.things) == 2]
    assert pairs
    same = [tableau_caption(tableau_of(scene)) == caption(scene).english for scene in pairs]
    # Which is larger, by the pixels that it covers, may differ from which is the main one, by its radius.
    assert sum(same) >= 0.7 * len(same)

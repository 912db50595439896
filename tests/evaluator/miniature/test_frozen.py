"""What the miniature world says and draws is what its networks have learnt and published results are of.

`WORLD_VERSION` and `PICTURES_VERSION` name it.
"""

import numpy as np

from evaluator.core import canonical_json
from evaluator.miniature import annotations
from evaluator.miniature.grammar.captions import caption, main_caption
from evaluator.miniature.grammar.documents import draw_document, draw_document_question
from evaluator.miniature.grammar.labels import label, object_names
from evaluator.miniature.grammar.questions import draw_question
from evaluator.miniature.grammar.reviews import draw_review
from evaluator.miniature.grammar.words import BELONGINGS, OPINIONS, PEOPLE, PLACES
from evaluator.miniature.scenes import draw_scene
from evaluator.miniature.seeds import PICTURES_VERSION, WORLD_VERSION, Split, generator
from evaluator.miniature.signs import draw_sign
from evaluator.miniature.tableaux.captions import clip_caption, tableau_caption
from evaluator.miniature.tableaux.clips import draw_clip
from evaluator.miniature.tableaux.drawing import Content, draw_tableau
from evaluator.miniature.tableaux.editing import EditKind, edit_of

SCENES = "3e01d914f612b616235c82e0da5b11d156a2986830ba2e7cae5a564b3378da02"
TEXTS = "e2698e6abad17e46e50678767c4398d7d539fe8ef5d9d3b8ffbca4ef705fade1"
TABLEAUX = "4eb570d7e8dd0fa8d892f93f7558a867995f6aad5d2eaee5247ca5da3d0d63f0"


def digest(found):
    return canonical_json.digest(canonical_json.dumps([str(one) for one in found]))


def test_scenes_and_what_is_said_of_them():
    """If this fails on purpose, raise a version: published results name them."""
    assert (WORLD_VERSION, PICTURES_VERSION) == ("1", "3")
    found = []
    for index in range(60):
        scene = draw_scene(split=Split.VALIDATION, index=index)
        question = draw_question(scene=scene, rng=np.random.default_rng(index))
        relations = [(one.subject, one.direction, one.other) for one in scene.relations]
        places = [(str(one.shape), str(one.colour), round(one.x, 6), round(one.y, 6)) for one in scene.things]
        found += [places, relations, caption(scene), main_caption(scene), label(scene), object_names(scene), question]
        found += [annotations.of_caption(scene), annotations.of_full_caption(scene)]
    assert digest(found) == SCENES


def test_stories_reviews_and_the_words_they_are_made_of():
    found = [*BELONGINGS, *OPINIONS, *PEOPLE, *PLACES, *(place.phrase for place in PLACES)]
    found += [form for thing in BELONGINGS for form in (thing.full_object, thing.name, thing.subject)]
    for index in range(60):
        rng = np.random.default_rng(index)
        document, review = draw_document(rng), draw_review(rng)
        question = draw_document_question(document=document, rng=rng).question
        found += [document.text, document.summary, question, review.text, review.sentiment]
        found += [annotations.of_story(document), annotations.of_review(review)]
    assert digest(found) == TEXTS


def test_tableaux_clips_signs_and_edits():
    found = []
    for index in range(40):
        clip = draw_clip(split=Split.VALIDATION, index=index)
        found += [clip_caption(clip), annotations.of_clip(clip), draw_sign(split=Split.VALIDATION, index=index).words]
        for content in Content:
            tableau = draw_tableau(split=Split.VALIDATION, index=index, content=content)
            found.append(tableau_caption(tableau))
            for kind in EditKind:
                rng = generator(split=Split.VALIDATION, index=index, purpose="edit")
                edit = edit_of(kind=kind, tableau=tableau, rng=rng)
                found.append(edit and (edit.instruction, edit.part, tableau_caption(edit.after)))
    assert digest(found) == TABLEAUX

"""Right and wrong responses, scored by what ran."""

from dataclasses import replace

import pytest

from evaluator.controlllm.chain.response_scores import ResponseFacts, score_response

FACTS = ResponseFacts(
    request="Count the dogs in park.png and trace its edges.",
    files=("park.png",),
    results={"result-1-text.txt": "2", "result-2-edge.png": "64x64 pixels"},
    ran={"image_question_answering", "image_to_edge"},
    undone=(),
)
PARTLY = replace(
    FACTS,
    results={"result-1-text.txt": "2"},
    ran={"image_question_answering"},
    undone=("trace its edges",),
    further=("the expert failed",),
)


def scores(response, *, facts=FACTS):
    found = score_response(response, facts=facts).to_json()
    return tuple(found[name] for name in ("faithful", "complete", "claims_only_what_ran"))


@pytest.mark.parametrize(
    "response",
    [
        "There are 2 dogs in park.png. I traced the edges, see result-2-edge.png.",
        'I answered "Count the dogs" (park.png). The result, result-1-text.txt, says: "2". '
        "I traced the edges (park.png). The result is result-2-edge.png: 64x64 pixels.",
        "I used image_to_edge; the files are result-1-text.txt and result-2-edge.png.",
    ],
)
def test_right_responses(response):
    assert scores(response) == (1, 1, 1)


@pytest.mark.parametrize(
    ("response", "wrong"),
    [
        ("There are 3 dogs: result-1-text.txt. The edges are in result-2-edge.png.", (0, 1, 1)),
        ("2 dogs; see result-2-edge.png and result-3-mask.json.", (0, 1, 1)),
        ('The answer is "five brown dogs" (result-1-text.txt, result-2-edge.png).', (0, 1, 1)),
        ("There are 2 dogs.", (1, 0, 1)),
        ("", (1, 0, 1)),
        ("I drew a picture of dogs: result-1-text.txt, result-2-edge.png.", (1, 1, 0)),
        ("I called text_to_image: result-1-text.txt, result-2-edge.png.", (1, 1, 0)),
    ],
)
def test_wrong_responses(response, wrong):
    assert scores(response) == wrong


def test_what_was_not_done_is_said_and_not_claimed():
    said = 'There are 2 dogs. I could not do this: "trace its edges", because the expert failed.'
    assert scores(said, facts=PARTLY) == (1, 1, 1)
    assert scores("There are 2 dogs.", facts=PARTLY) == (1, 0, 1)
    assert scores("There are 2 dogs. I traced the edges.", facts=PARTLY) == (1, 0, 0)
    assert scores("There are 2 dogs. I could not draw a castle.", facts=PARTLY) == (1, 0, 1)


def test_each_zero_has_its_reasons():
    found = score_response("I filmed 7 cats.", facts=FACTS).to_json()
    assert sorted(found["why"]) == ["claims_only_what_ran", "complete", "faithful"]
    assert found["why"]["faithful"] == ["7 is in no result"]
    assert score_response("2 dogs: result-2-edge.png", facts=FACTS).to_json()["why"] == {}


def test_long_responses_are_read_in_linear_time():
    for text in ('"' * 20_000, "a." * 20_000, "1." * 20_000, "I drew " * 5_000):
        assert score_response(text, facts=FACTS).incomplete

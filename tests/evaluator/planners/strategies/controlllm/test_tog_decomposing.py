"""Task decomposition: by a language model whose answers are given by hand, and by rules."""

import json

import pytest

from evaluator.planners.language_models.protocol import Completion
from evaluator.planners.strategies.controlllm.decomposing import (
    REPAIRS,
    decompose_by_asking,
    instructions,
    read_decomposition,
)
from evaluator.planners.strategies.controlllm.offline_decomposing import decompose_offline
from evaluator.planners.strategies.controlllm.subtasks import typed_subtasks
from evaluator.plans.decomposition import parse_decomposition
from evaluator.plans.model import PlanSyntaxError
from tests.evaluator.planners.strategies.controlllm.tog_factories import ALL, TOOLBOX, converse, request


def raw(number=0, *, dep=(-1,), task=("image-perception",), args=(("image", "a.png"),), gives="mask", value=None):
    return {
        "description": "Find the dog.",
        "task": list(task),
        "id": number,
        "dep": list(dep),
        "args": [{"type": kind, "value": value} for kind, value in args],
        "returns": [{"type": gives, "value": value or f"<GENERATED>-{number}"}],
    }


def answer(*subtasks) -> str:
    return f"<Solution>{json.dumps(list(subtasks))}</Solution>"


REQUEST = request("Find the dog in a.png", a_png="image")


def read(*subtasks):
    return read_decomposition(text=answer(*subtasks), request=REQUEST, tools=ALL)


# --- by asking ----------------------------------------------------------------------------------------------------


def test_a_right_answer_is_taken_at_once():
    found, rounds = converse(decompose_by_asking(request=REQUEST, tools=ALL), lambda call: answer(raw()))
    assert (found.tries, found.problems, len(rounds)) == (1, (), 1)
    assert [one.description for one in found.subtasks] == ["Find the dog."]


def test_the_prompt_names_the_request_its_files_the_domains_and_the_types():
    _, ((call,),) = converse(decompose_by_asking(request=REQUEST, tools=ALL), lambda call: answer(raw()))
    system, user = call.messages
    assert (system.role, user.role) == ("system", "user")
    assert user.content == "Request: Find the dog in a.png\nFiles: a.png (image)"
    assert all(domain in system.content for domain in {tool.domain for tool in ALL} - {"general"})
    assert "depth" in system.content


def test_the_example_of_the_prompt_can_be_read():
    example = instructions(ALL).split("Request: ")[1].split("\n", 1)[1]
    given = request("Read it aloud", street_jpg="image", clip_mp4="video")
    found = read_decomposition(text=example, request=given, tools=ALL)
    assert found.problems == ()
    assert len(found.subtasks) == 2


def test_what_is_wrong_is_told_with_its_place_and_mended():
    answers = iter([answer(raw(task=("image-magic",))), "sorry", answer(raw())])
    found, rounds = converse(decompose_by_asking(request=REQUEST, tools=ALL), lambda call: next(answers))
    assert found.tries == 3
    assert found.problems == ()
    complaints = [calls[0].messages[-1].content for calls in rounds[1:]]
    assert "[0].task[0]: there is no domain 'image-magic'" in complaints[0]
    assert "character 1: " in complaints[1]
    assert [message.role for message in rounds[2][0].messages] == ["system", "user"] + ["assistant", "user"] * 2


def test_an_answer_that_was_cut_is_told_so():
    conversation = decompose_by_asking(request=REQUEST, tools=ALL)
    next(conversation)
    (call,) = conversation.send([Completion(text='<Solution>[{"id": 0', truncated=True)])
    assert "- the answer was cut after 2048 tokens" in call.messages[-1].content


def test_after_the_last_try_a_readable_answer_is_used_with_its_faults():
    answers = iter([answer(raw(args=(("image", "b.png"),))), "nothing", "nothing again"])
    found, rounds = converse(decompose_by_asking(request=REQUEST, tools=ALL), lambda call: next(answers))
    assert len(rounds) == REPAIRS + 1
    assert found.subtasks is not None
    assert found.problems == ("[0].args[0].value: the request gives no file 'b.png'",)


def test_without_any_readable_answer_there_are_no_subtasks_but_the_text():
    found, rounds = converse(decompose_by_asking(request=REQUEST, tools=ALL), lambda call: "I cannot.")
    assert len(rounds) == REPAIRS + 1
    assert found.subtasks is None
    assert found.text == "I cannot."


def test_text_around_the_answer_does_not_matter():
    text = f"Let me think.\n{answer(raw())}\nThat is all."
    assert read_decomposition(text=text, request=REQUEST, tools=ALL).problems == ()
    bare = f"Here it is: {json.dumps([raw()])}"
    assert read_decomposition(text=bare, request=REQUEST, tools=ALL).problems == ()


@pytest.mark.parametrize(
    ("subtasks", "problem"),
    [
        (
            [raw(), raw(1, args=(("mask", "<GENERATED>-0"),))],
            '[1].args[0].value: <GENERATED>-0 is of a subtask that is not in "dep"',
        ),
        ([raw(args=(("mask", "<GENERATED>-4"),))], "[0].args[0].value: no subtask returns <GENERATED>-4"),
        ([raw(gives="smell")], "[0].returns[0].type: there is no resource type 'smell'"),
        ([raw(dep=(3,))], "[0].dep: there is no subtask 3"),
        ([raw(0, dep=(1,)), raw(1, dep=(0,))], "dep: subtasks depend on each other in a circle"),
        ([raw(), raw(1, value="<GENERATED>-0")], "[1].returns: '<GENERATED>-0' is already what [0] returns"),
    ],
)  # fmt: skip
def test_each_fault_is_named_with_its_place(subtasks, problem):
    found = read(*subtasks)
    assert any(one.startswith(problem) for one in found.problems), found.problems


def test_a_slip_in_the_json_is_named_by_its_place_in_the_whole_answer():
    text = 'Here:\n<Solution>[{"id": 0 "dep": []}]</Solution>'
    found = read_decomposition(text=text, request=REQUEST, tools=ALL)
    assert found.problems[0].startswith("line 2, column 21"), found.problems


def test_texts_need_not_be_files():
    assert read(raw(args=(("image", "a.png"), ("text", "dog")))).problems == ()


def test_a_request_that_cannot_be_served_has_no_subtasks_and_no_fault():
    found = read()
    assert found.subtasks == ()
    assert found.problems == ()


def test_subtasks_come_after_what_they_depend_on_and_else_keep_their_order():
    later_first = [one.id for one in typed_subtasks(parse_decomposition(answer(raw(2, dep=(1,)), raw(0), raw(1))))]
    assert sorted(later_first) == [0, 1, 2]
    assert later_first.index(1) < later_first.index(2)
    in_order = parse_decomposition(answer(raw(5), raw(3), raw(4, dep=(5,))))
    assert [one.id for one in typed_subtasks(in_order)] == [5, 3, 4]


def test_the_released_codes_types_are_read():
    (one,) = typed_subtasks(parse_decomposition(answer(raw(args=(("image.mask", "a.png"),)))))
    assert str(one.args[0].type) == "mask"


def test_a_subtask_returns_something():
    with pytest.raises(PlanSyntaxError, match=r"\[0\].returns: a subtask returns at least one"):
        typed_subtasks(parse_decomposition(answer({**raw(), "returns": []})))


# --- by rules -----------------------------------------------------------------------------------------------------


def offline(text: str, **files: str):
    return decompose_offline(request=request(text, **files), tools=ALL, lexicon=TOOLBOX.lexicon)


def shape(one):
    return ([(str(arg.type), arg.value) for arg in one.args], str(one.returns[0].type))


def test_a_thing_to_be_found_becomes_the_text():
    (one,) = offline("Give me the mask of the polar bear in ice.png, please.", ice_png="image")
    assert shape(one) == ([("image", "ice.png"), ("text", "polar bear")], "mask")
    assert "`image_instance_segmentation`" in one.description
    assert "`select_mask`" in one.description


def test_a_question_is_answered_about_the_image_or_without_one():
    (about,) = offline("Who painted the ceiling in hall.png?", hall_png="image")
    assert about.domains == ("visual-question-answering",)
    assert ("text", "Who painted the ceiling in the image?") in shape(about)[0]
    (without,) = offline("Who painted the Sistine Chapel?")
    assert without.domains == ("question-answering",)
    assert shape(without) == ([("text", "Who painted the Sistine Chapel?")], "text")


def test_a_polite_request_is_no_question():
    (one,) = offline("Could you trace the edges of hall.png?", hall_png="image")
    assert shape(one) == ([("image", "hall.png")], "edge")


def test_what_is_asked_of_several_files_is_a_subtask_for_each():
    found = offline("Trace the edges of a.png and b.png.", a_png="image", b_png="image")
    assert [shape(one)[0] for one in found] == [[("image", "a.png")], [("image", "b.png")]]
    assert [one.returns[0].value for one in found] == ["<GENERATED>-0", "<GENERATED>-1"]


def test_a_later_sentence_speaks_of_the_files_of_before_or_of_the_new_image():
    _, back = offline("Trace the edges of a.png. Then segment everything in this image.", a_png="image")
    assert ("image", "a.png") in shape(back)[0]
    _, new = offline("Paint a lighthouse. Afterwards trace the edges of the new image.")
    assert shape(new) == ([("image", "<GENERATED>-0")], "edge")


def test_the_same_request_is_decomposed_in_the_same_way_every_time():
    assert offline("Crop b.png to the otter.", b_png="image") == offline("Crop b.png to the otter.", b_png="image")


@pytest.mark.parametrize("text", ["", "?!", "x", "a.png", "<GENERATED>-0", "\n\n", "then then then", "." * 50])
def test_odd_requests_do_not_break_the_rules(text):
    offline(text)
    offline(text, a_png="image", b_wav="audio")

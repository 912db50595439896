"""Task decomposition: by a language model whose answers are given by hand, and by rules."""

import json

import pytest

from evaluator.planners.strategies.controlllm.decomposing import (
    REPAIRS,
    decompose_by_asking,
    read_decomposition,
)
from evaluator.planners.strategies.controlllm.offline_decomposing import decompose_offline
from evaluator.planners.strategies.controlllm.subtasks import typed_subtasks
from evaluator.plans.decomposition import parse_decomposition
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


def test_what_is_wrong_is_told_with_its_place_and_mended():
    answers = iter([answer(raw(task=("image-magic",))), "sorry", answer(raw())])
    found, rounds = converse(decompose_by_asking(request=REQUEST, tools=ALL), lambda call: next(answers))
    assert found.tries == 3
    assert found.problems == ()
    complaints = [calls[0].messages[-1].content for calls in rounds[1:]]
    assert "[0].task[0]: there is no domain 'image-magic'" in complaints[0]
    assert "character 1: " in complaints[1]
    assert [message.role for message in rounds[2][0].messages] == ["system", "user"] + ["assistant", "user"] * 2


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


def test_subtasks_come_after_what_they_depend_on_and_else_keep_their_order():
    later_first = [one.id for one in typed_subtasks(parse_decomposition(answer(raw(2, dep=(1,)), raw(0), raw(1))))]
    assert sorted(later_first) == [0, 1, 2]
    assert later_first.index(1) < later_first.index(2)
    in_order = parse_decomposition(answer(raw(5), raw(3), raw(4, dep=(5,))))
    assert [one.id for one in typed_subtasks(in_order)] == [5, 3, 4]


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


def test_what_is_asked_of_several_files_is_a_subtask_for_each():
    found = offline("Trace the edges of a.png and b.png.", a_png="image", b_png="image")
    assert [shape(one)[0] for one in found] == [[("image", "a.png")], [("image", "b.png")]]
    assert [one.returns[0].value for one in found] == ["<GENERATED>-0", "<GENERATED>-1"]


def test_a_later_sentence_speaks_of_the_files_of_before_or_of_the_new_image():
    _, back = offline("Trace the edges of a.png. Then segment everything in this image.", a_png="image")
    assert ("image", "a.png") in shape(back)[0]
    _, new = offline("Paint a lighthouse. Afterwards trace the edges of the new image.")
    assert shape(new) == ([("image", "<GENERATED>-0")], "edge")


@pytest.mark.parametrize("text", ["", "?!", "x", "a.png", "<GENERATED>-0", "\n\n", "then then then", "." * 50])
def test_odd_requests_do_not_break_the_rules(text):
    offline(text)
    offline(text, a_png="image", b_wav="audio")

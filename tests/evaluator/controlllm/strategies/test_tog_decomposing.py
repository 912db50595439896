"""Task decomposition: by a language model whose answers are given by hand, and by rules; texts in quotation marks."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evaluator.controlllm.strategies.decomposing import REPAIRS, decompose_by_asking, read_decomposition
from evaluator.controlllm.strategies.offline_decomposing import decompose_offline
from evaluator.controlllm.strategies.planning import plan_offline
from evaluator.controlllm.strategies.quotations import read_quotations, without_marks
from evaluator.controlllm.strategies.search import adaptive
from evaluator.controlllm.strategies.subtasks import typed_subtasks
from evaluator.replies.decomposition import parse_decomposition
from tests.evaluator.controlllm.strategies.tog_factories import ALL, TOOLBOX, converse, request


def raw(
    number=0, *, dep=(-1,), task=("image-perception",), args=(("image", "a.png"),), gives="mask", value=None,
    description="Find the dog.",
):  # fmt: skip
    return {
        "description": description,
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
        ([raw(), raw(1, value="<GENERATED>-0")], "[1].returns: [0] already returns '<GENERATED>-0'"),
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


TEXT = "It rained all day. Then Ann left. Nobody came home."


def planned(text: str, **files: str) -> list[tuple[list[str], tuple[str, ...]]]:
    """Arguments and tools of each subtask."""
    subtasks = decompose_offline(request=request(text, **files), tools=ALL, lexicon=TOOLBOX.lexicon)
    found = plan_offline(subtasks=subtasks, toolbox=TOOLBOX, choose=adaptive)
    return [
        ([arg.value for arg in subtask.args], one.candidates[0].path if one.candidates else ())
        for subtask, one in zip(subtasks, found, strict=True)
    ]


@pytest.mark.parametrize(
    ("wording", "tool"),
    [
        ('Find a headline for "{}"', "title_generation"),
        ('Which keywords suit the following? "{}"', "text_to_tags"),
        ('"{}" List the people mentioned in this story.', "named_entity_recognition"),
        ("Condense \u201c{}\u201d, please.", "summarization"),
        ('Is the tone of this paragraph happy or sad? "{}"', "sentiment_analysis"),
        ('Where does this take place? "{}"', "extract_location"),
        ('Read this aloud: "{}"', "text_to_speech"),
        ('Shorten this: "{}', "summarization"),
    ],
)
def test_a_quoted_text_is_passed_on_whole_to_the_tool_that_is_asked_for(wording, tool):
    assert planned(wording.format(TEXT)) == [([TEXT], (tool,))]


@pytest.mark.parametrize(
    "wording",
    [
        "Could you read a.png to me?",
        "What does the label on the bottle in a.png read?",
        "Transcribe the handwriting in a.png.",
        "Which letters are written on the board in a.png? Give me the letters.",
    ],
)
def test_writing_is_read_once(wording):
    assert planned(wording, a_png="image") == [(["a.png"], ("optical_character_recognition",))]


ODD = ["", "?!", "x", "a.png", "<GENERATED>-0", "\n\n", "then then then", "." * 50, '"', '""', '"a', "\u201c", "'''",
       '"" ""', 'a" b" c"', "<QUOTE>-0", '"<QUOTE>-1"', '".']  # fmt: skip


@pytest.mark.parametrize("text", ODD)
def test_odd_requests_and_quotations_do_not_break_the_rules(text):
    planned(text)
    planned(text, a_png="image", b_wav="audio")


def quoted(text: str, *files: str) -> list[str]:
    return [one.text for one in read_quotations(text, files=files).quotations]


@pytest.mark.parametrize(
    ("request_text", "texts"),
    [
        ('Tag this: "It rained. We left."', ["It rained. We left."]),
        ("Tag this: \u201cIt rained. We left.\u201d", ["It rained. We left."]),
        ("Tag this: \u201eEs regnete. Wir gingen.\u201c", ["Es regnete. Wir gingen."]),
        ("Tag this: «Il pleut. On part.»", ["Il pleut. On part."]),
        ("Tag this: \u2018Ann\u2019s dog ran. We left.\u2019", ["Ann\u2019s dog ran. We left."]),
        ("Tag this: 'The dogs' bowl fell. We left.'", ["The dogs' bowl fell. We left."]),
        ('Tag this: "She said \u2018no\u2019. We left."', ["She said \u2018no\u2019. We left."]),
        ("Mark the 'red star' and the 'blue ring'.", ["red star", "blue ring"]),
        ('Title "One. Two." and ("Three. Four.").', ["One. Two.", "Three. Four."]),
    ],
)
def test_texts_between_marks_are_found_word_for_word(request_text, texts):
    assert quoted(request_text) == texts


@pytest.mark.parametrize(
    "request_text",
    [
        "Don't crop the dogs' bowl.",
        'A 5" pipe and a 6\'2" man.',
        "'Tis late, and rock 'n' roll is dead",
        'Describe "a.png".',
        'They wrote: "Crop a.png to the dog. Then count the cats."',
        '"Paint a lighthouse. Then trace its edges."',
        'Nothing here: "" or " " or \u201c\u201d.',
        "",
    ],
)
def test_apostrophes_inches_empty_marks_and_instructions_are_no_quotations(request_text):
    found = read_quotations(request_text, files=["a.png"])
    assert (found.quotations, found.text) == ((), request_text)


def test_a_mark_that_is_never_closed_reaches_to_the_end_or_to_a_sentence_with_a_file():
    assert quoted('Tag this: "It rained. We left') == ["It rained. We left"]
    assert quoted("Tag this: \u201cIt rained. We left. Then crop a.png.", "a.png") == ["It rained. We left."]
    assert quoted('Mark the "red star in a.png.', "a.png") == []


_MARKS = st.text(alphabet="ab.:, ?\"'\u201c\u201d\u201e\u2018\u2019«»5\nA", max_size=60)


@given(text=_MARKS)
@example(text='"5"5A')
def test_any_order_of_marks_can_be_read_and_written_back(text):
    found = read_quotations(text, files=["a.b"])
    for one in found.quotations:
        assert one.text.strip()
        assert one.text in text
        assert one.written in text
    assert len(without_marks(found.text)) <= len(text) + len(found.quotations)
    letters = [char for char in found.whole(found.text) if char != "."]
    assert letters == [char for char in text if char != "."]

"""VisProg's and ViperGPT's strategies: programs are read, exactly placed errors say what is not, nothing is run."""

import ast
import builtins

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.controlllm.baselines import program_text, visprog
from evaluator.controlllm.baselines.program_text import read_program
from evaluator.controlllm.baselines.visprog import ViperGPT, VisProg
from evaluator.core.plans.model import PlanSyntaxError
from tests.evaluator.planners.strategies.conversing import REMOVE_KEYBOARD, held, is_solved, request_of

FUNCTION = '''def execute_command(image1) -> str:
    """Remove it."""
    masks = image_instance_segmentation(image1)  # all of them
    keyboard = select_mask(masks, condition="keyboard")

    return image_inpainting(
        image=image1,
        mask=keyboard,
    )
'''


def lines(text, where=REMOVE_KEYBOARD):
    draft, (call,) = held(VisProg(), request_of(*where), [text])
    return draft, call


def function(text, where=REMOVE_KEYBOARD):
    draft, (call,) = held(ViperGPT(), request_of(*where), [text])
    return draft, call


def test_a_code_fence_and_what_stands_around_it_are_left_out_and_recorded():
    draft, _ = function(f"Here:\n```python\n{FUNCTION}```\nIt removes the keyboard.")
    assert is_solved(draft, REMOVE_KEYBOARD[1])
    assert draft.tolerated[:2] == ("envelope: fence", "envelope: 32 characters of prose")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("import os", "line 1, column 1: 'import' cannot stand here"),
        ("__import__('os').system('true')", "line 1, column 17: expected the end of the line, found '.'"),
        ("A=CAPTION(image=IMAGE1)\nexec('x') or 1", "line 2, column 11: expected the end of the line, found 'or'"),
        ("A = 1 + 1", "line 1, column 7: '+' cannot stand here"),
        ("A = IMAGE1.size", "line 1, column 11: expected the end of the line, found '.'"),
        ("A = [x for x in IMAGE1]", "line 1, column 8: expected ']', found 'for'"),
        ("A = f'{IMAGE1}'", "line 1, column 5: texts have no prefix"),
        ("A = lambda: 1", "line 1, column 5: 'lambda' cannot stand here"),
        ("if True:\n    A = 1", "line 1, column 1: 'if' cannot stand here"),
        ("A = B(", "line 1, column 7: expected a value, found the end"),
        ("A = 'never closed", "line 1, column 5: this quote is never closed"),
        ("A = B(x=1, x=2)", "line 1, column 12: the argument 'x' stands twice"),
        ("A = B(x=1, 2)", "line 1, column 12: an argument without a name stands behind one with a name"),
        ("A = MISSING", "line 1, column 5: MISSING was not assigned; given are IMAGE1"),
        ("A, B = IMAGE_CAPTIONING(IMAGE1)", "line 1, column 1: 2 names for 1 result of IMAGE_CAPTIONING"),
        ("A = IMAGE_CAPTIONING(IMAGE1, image=IMAGE1)", "line 1, column 36: the input 'image'"),
        ("A = 1\n  B = 2", "line 2, column 3: this line stands further in or out than the first one"),
        ("return IMAGE1\nA = 1", "line 2, column 1: nothing may follow a return"),
        ("def f(other):\n  return other", "line 1, column 7: other is not given; given are IMAGE1"),
        ("def f(IMAGE1):\nreturn IMAGE1", "line 2, column 1: the function has no body"),
        ("def f(IMAGE1): return IMAGE1", "line 1, column 16: expected a line break after ':'"),
        ("def f(IMAGE1):\n  return IMAGE1\nf(IMAGE1)", "line 3, column 1: this line stands further in or out"),
        ("A = B(" + "[" * 30 + "]" * 30 + ")", "nested more than 20 deep"),
        ("A = " + "1" * 40, "line 1, column 5: a number with too many digits"),
        ("\n".join(f"A{k} = IMAGE_CAPTIONING(IMAGE1)" for k in range(101)), "a plan has at most 100 calls"),
        ("A = 1\n" * 501, "line 501, column 1: a program has at most 500 statements"),
    ],
)
def test_what_is_no_program_is_an_error_with_line_and_column(text, says):
    draft, _ = lines(text)
    assert says in draft.unreadable
    assert draft.plan == text


def test_hostile_texts_are_unreadable_and_no_trap():
    texts = [
        "A = " + "F(" * 500_000,
        "x" * 1_000_000,
        "'" * 1_000_000,
        '"""' + "a" * 60_000,
        "[" * 60_000,
        "F(" * 30_000,
        "A = 1\n" * 10_000,
        "\\" * 60_000,
        "'\\'" * 20_000,
        '"""""' * 13_000,
        "```" * 20_000,
        "```python\n" * 6_000,
        "#" * 65_000,
        " " * 65_000 + "A",
        "def " * 16_000,
        "A," * 30_000,
    ]
    assert [text[:20] for text in texts if not lines(text)[0].unreadable] == []


def test_no_program_is_ever_run_compiled_or_parsed_by_python(monkeypatch):
    def never(*arguments, **options):
        raise AssertionError("a program was handed to Python")

    for owner, name in ((builtins, "eval"), (builtins, "exec"), (builtins, "compile"), (ast, "parse")):
        monkeypatch.setattr(owner, name, never)
    draft, _ = lines("A=__import__('os')\nB=eval('1')\nC=RESULT(var=B)")
    assert [step["tool"] for step in draft.plan["steps"]] == ["__import__", "eval"]
    for module in (program_text, visprog):
        assert not {"ast", "eval", "exec", "compile"} & vars(module).keys()


_VALUES = st.one_of(
    st.sampled_from(["IMAGE1", "A", "'keyboard'", '"a\\"b"', "3", "-2.5", "True", "None", "[IMAGE1, 'x']"]),
    st.builds("IMAGE_CAPTIONING({})".format, st.sampled_from(["IMAGE1", "'x'", "image=IMAGE1"])),
)
_STATEMENTS = st.one_of(
    st.builds("A = {}".format, _VALUES), st.builds("A=SELECT_MASK(A, {})".format, _VALUES), st.just("# nothing")
)


@settings(deadline=None)
@given(st.lists(_STATEMENTS, min_size=1, max_size=8), st.booleans())
def test_every_program_of_the_grammar_is_read(statements, as_function):
    body = ["A = IMAGE1", *statements]
    text = "\n".join(["def f(IMAGE1):", *(f"    {one}" for one in body)] if as_function else body)
    draft, _ = lines(text)
    assert draft.unreadable == ""
    calls = sum(statement.count("(") for statement in statements)
    assert len(draft.plan["steps"]) == calls


@settings(deadline=None)
@given(st.text(alphabet="AB=(),[]'\"\\ \n\tdefrtun:.-0#", max_size=120))
def test_any_text_is_a_program_or_an_error_with_a_place(text):
    where = "line 1"
    try:
        read_program(text)
    except PlanSyntaxError as error:
        where = error.where
    assert where.startswith("line ")

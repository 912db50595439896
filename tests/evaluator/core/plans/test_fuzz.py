"""Whatever a planner sends: nothing but the parsers' own error escapes, and time grows with length, not faster."""

import json
import random
from contextlib import contextmanager, suppress

import pytest

from evaluator.core.plans.literals import load_literal
from evaluator.core.plans.model import PlanContext, PlanSyntaxError
from evaluator.core.tools.catalogues import CONTROLLLM
from evaluator.core.tools.types import ResourceType
from evaluator.replies.canonical import parse_canonical
from evaluator.replies.comma import parse_comma
from evaluator.replies.controlllm import parse_controlllm
from evaluator.replies.decomposition import parse_decomposition
from evaluator.replies.hugginggpt import parse_hugginggpt
from evaluator.replies.lumos import parse_lumos
from evaluator.replies.printed import parse_printed
from evaluator.replies.read import read_plan
from evaluator.replies.tree import parse_tree
from tests.evaluator.core.plans.linear import assert_linear
from tests.evaluator.replies.test_decomposition import SUBTASK
from tests.evaluator.replies.test_read import ACTION, CALL, STEP, TASK

CONTEXT = PlanContext(
    catalogue=CONTROLLLM,
    resources={"image": ResourceType.IMAGE, "query": ResourceType.TEXT},
    expects=None,
)
READERS = {
    "canonical": lambda value: parse_canonical(value=value, context=CONTEXT),
    "comma": lambda value: parse_comma(text=value, context=CONTEXT),
    "tree": lambda value: parse_tree(text=value, context=CONTEXT),
    "controlllm": lambda value: parse_controlllm(value=value, context=CONTEXT),
    "printed": lambda value: parse_printed(text=value, context=CONTEXT),
    "hugginggpt": lambda value: parse_hugginggpt(value=value, context=CONTEXT),
    "tool_calls": lambda value: read_plan(value=value, context=CONTEXT),
    "lumos": lambda value: parse_lumos(text=value, context=CONTEXT),
    "decomposition": parse_decomposition,
    "literal": load_literal,
    "any": lambda value: read_plan(value=value, context=CONTEXT),
}
VALUE_READERS = ("canonical", "controlllm", "hugginggpt", "tool_calls", "any")

GIVEN = [{"name": "bbox_list", "type": "bbox", "value": "<GEN>-0"}]
MADE = [{"name": "result", "type": "bbox", "value": "<GEN>-1"}]
CANDIDATE = {"score": 3, "solution": [{"tool_name": "select_bbox", "args": GIVEN, "returns": MADE}]}
CANONICAL = {"steps": [STEP], "answers": ["s1.text"], "subgoals": ["look"]}
CHAT = {"task": "openai_chat_model", "id": 1, "dep": [0], "args": {"text": "<resource>-0", "n": [1, None]}}
VALUES = {
    "canonical": [CANONICAL],
    "controlllm": [[ACTION], [[ACTION], [ACTION]], [[CANDIDATE, CANDIDATE]], CANDIDATE],
    "hugginggpt": [[TASK, CHAT]],
    "tool_calls": [[CALL]],
    "decomposition": [[SUBTASK]],
}
TEXTS = {
    **{name: [json.dumps(value) for value in values] for name, values in VALUES.items()},
    "any": [repr(value) for name, values in VALUES.items() for value in values if name != "decomposition"],
    "literal": [repr([SUBTASK]), "{'a': [1, -2.5e3, None, (True,)], \"b\": '\\x41\\n\\''}"],
    "decomposition": [f"<Solution>{json.dumps([SUBTASK])}</Solution>", f"<Solution>{[SUBTASK]!r}</Solution>"],
    "printed": [
        "[Action(tool_name='image_captioning', inputs={'image': 'a\\'.png', 'n': [1, -2.5e3]}, outputs=['<GEN>-0'])]",
        "[[Action('select_bbox', {'bbox_list': \"<GEN>-0\"}, {'result': 'x'}),],\n[]] Action(\"x\", {}, \"y\"),",
    ],
    "lumos": [
        "R1 = image_captioning(image=$image); R2, R3 = summarization('x \\u00e9')\n<GEN>-0 = f([R1], a (b), None)",
        "Action 1-1: R1 = VQA([IMG], Question: What's this?) = It is a sign.",
    ],
    "tree": ["(image_captioning,summarization,)(text_to_tags,)image_question_answering,", "((a,)()b,)(c,)d,e"],
    "comma": ["image_captioning, Summarization,, text_to_speech,"],
}
SYMBOLS = [
    *"()[]{},:;='\"\\\n$<>-.| 0\t", "Action(", "tool_name=", "inputs={", "outputs=[", "<Solution>", "</Solution>",
    "<GEN>-1", "R1 =", "null", "None", "1e999", "9" * 500, "\\u12", "\\ud83d\\ude00", "\\udc00", "image_captioning",
    "\x00", "\ud800", "é", "\u2028", '"tool":', '"steps":', '"id":',
    # A digit and an equals sign, but not the ASCII ones.
    "\u0661", "\uff1d",
]  # fmt: skip


def mutated(rng, text):
    """A text with a few pieces lost, doubled, moved or replaced."""
    for _ in range(rng.randint(1, 3)):
        start = rng.randrange(len(text) + 1)
        end = min(len(text), start + rng.randint(0, 12))
        piece = rng.choice(("", text[start:end] * 2, rng.choice(SYMBOLS), "".join(rng.choices(SYMBOLS, k=3))))
        text = text[:start] + piece + text[end:]
    return text


def soup(rng):
    return "".join(rng.choices(SYMBOLS, k=rng.randint(0, 25)))


SCALARS = (None, True, 0, -1, 1.5, "", "x", "<GEN>-0", "\ud800", 10**30, float("nan"), [], {}, [[]], {"": None})


def damaged(rng, value):
    """A JSON value with some of its parts replaced, dropped or doubled."""
    if rng.random() < 0.06:
        return rng.choice(SCALARS)
    if isinstance(value, dict):
        return {
            (rng.choice(("tool", "id", "", "value")) if rng.random() < 0.04 else key): damaged(rng, item)
            for key, item in value.items()
            if rng.random() > 0.04
        }
    if isinstance(value, list):
        return [damaged(rng, item) for item in value for _ in range(rng.choice((1, 1, 1, 1, 1, 1, 2, 0)))]
    return value


def inputs(*, seed, count):
    """Reader and input, again and again: half of the plans for the reader of their form, half for any."""
    rng = random.Random(seed)
    for index in range(count):
        own = rng.choice(tuple(TEXTS))
        reader = own if rng.random() < 0.5 else rng.choice(tuple(READERS))
        if index % 4 == 0:
            yield reader, soup(rng)
        elif index % 4 == 1 and own in VALUE_READERS and own in VALUES:
            yield own if reader == own else rng.choice(VALUE_READERS), damaged(rng, rng.choice(VALUES[own]))
        else:
            yield reader, mutated(rng, rng.choice(TEXTS[own]))


def test_damaged_inputs_raise_nothing_but_the_parsers_own_error(full):
    refused, count = 0, 100_000 if full else 10_000
    for name, value in inputs(seed=20, count=count):
        try:
            READERS[name](value)
        except PlanSyntaxError:
            refused += 1
        except Exception as error:
            pytest.fail(f"{name} raised {error!r} on {value!r}")
    assert 0.2 * count < refused < 0.95 * count, "the inputs should be neither all right nor all wrong"


def test_the_unchanged_inputs_are_read():
    for name in TEXTS:
        for value in TEXTS[name] + (VALUES[name] if name in VALUE_READERS and name in VALUES else []):
            READERS[name](value)


PIECES = (
    "(", "()", "[", "[],", '{"a":', "Action(", "Action('x'),", "[Action('x')],", "x", ",", ",\n", " ", "\n", "'",
    "'a',", "'\n',", "\\", "R1, ", "R1 = ", "R1 = f(a)\n", "R1 = f(a) = b = c\n", "[(", "9", "<GEN>-", "<Solution>",
    '"a": 1, ',
)  # fmt: skip
FRAMES = (
    ("", ""), ("[Action('x', {'a': [", "]}, ['y'])]"), ("R1 = f(", ")"), ("R1 = f([", "])"), ("{", "}"),
    ('[{"tool": "x", "inputs": {"a": [', ']}, "outputs": []}]'),
    ('[{"tool": "x", "inputs": {"a": "', '"}, "outputs": ["y"]}]'),
)  # fmt: skip


@pytest.mark.full
@pytest.mark.parametrize("name", sorted(READERS))
def test_time_grows_with_length_and_not_faster(name):
    size = 4_000
    for piece in PIECES:
        for before, after in FRAMES:
            short, long = (before + piece * (length // len(piece)) + after for length in (size, 8 * size))
            assert_linear(READERS[name], short, long, error=PlanSyntaxError)


@pytest.mark.full
def test_many_arguments_and_keys_take_linear_time():
    def plans(count):
        many = {f"a{index}": ["x", 1] for index in range(count)}
        names = [{"name": f"a{index}", "value": index} for index in range(count)]
        listed = [f"o{index}" for index in range(count)]
        calls = [{"id": "c", "function": {"name": "image_captioning", "arguments": json.dumps(many)}}]
        yield "controlllm", [{"tool": "image_captioning", "inputs": many, "outputs": listed}]
        yield "controlllm", [{"tool": "x", "args": names, "returns": listed} | many]
        yield "hugginggpt", [{"task": "image_captioning", "id": 0, "dep": [0] * count, "args": many}]
        yield "tool_calls", calls
        yield "lumos", f"{', '.join(listed)} = f({', '.join(f'{name}=x' for name in many)})"
        yield "lumos", f"R1 = f({', '.join(listed)})"
        yield "printed", f"[Action('x', {many!r}, {listed!r})]"
        yield "canonical", {"steps": [{"id": "s", "tool": "x", "inputs": dict.fromkeys(many, "x")}], "answers": listed}

    for (name, few), (_, many) in zip(plans(1_000), plans(8_000), strict=True):
        assert_linear(READERS[name], few, many, error=PlanSyntaxError)


def test_depth_is_bounded(full):
    for piece in ["[", "(", '{"a":', "{'a':", "Action('x', {'a': [", "R1 = f([", "((a,)"]:
        for name in READERS:
            for count in (30, 900, 100_000 if full else 10_000):
                with suppress(PlanSyntaxError):
                    READERS[name](piece * count)


def test_deep_json_values_are_refused_not_followed():
    value = "x"
    for _ in range(100_000):
        value = [value]
    for name in VALUE_READERS:
        with suppress(PlanSyntaxError):
            READERS[name]([{"tool": "x", "inputs": {"a": value}, "outputs": []}])


def test_a_text_that_utf_8_cannot_write_is_no_plan():
    for value in (
        [{"tool": "x", "inputs": {"a": "\ud800"}, "outputs": []}],
        '[{"tool": "\\udc00", "inputs": {}, "outputs": []}]',
    ):
        with pytest.raises(PlanSyntaxError, match="half a character"):
            read_plan(value=value, context=CONTEXT)


def test_a_key_given_twice_is_refused():
    with pytest.raises(PlanSyntaxError, match="stands twice"):
        read_plan(value='{"steps": [], "steps": [], "answers": []}', context=CONTEXT)


def test_the_error_crosses_a_context_manager_unharmed():
    @contextmanager
    def some_block():
        yield

    with pytest.raises(PlanSyntaxError, match="half a character"), some_block():
        raise PlanSyntaxError("half a character")

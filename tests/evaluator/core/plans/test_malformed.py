"""What is no plan: each form's errors say where they are and what is wrong there."""

import pytest

from evaluator.core.plans.model import PlanSyntaxError
from tests.evaluator.core.plans.test_action_lists import DETECT
from tests.evaluator.core.plans.test_fuzz import READERS
from tests.evaluator.core.plans.test_other_forms import call, task
from tests.evaluator.replies.test_decomposition import SUBTASK, solution

MALFORMED = {
    "any": [
        ({"steps": 3, "answers": []}, "steps", ""),
        ({"steps": [{"id": "s1"}], "answers": []}, "steps[0].tool", ""),
        ({"steps": [{"id": 1, "tool": "x", "inputs": {}}], "answers": []}, "steps[0].id", ""),
        ({"steps": [{"id": "a", "tool": "x", "inputs": {"image": 1}}], "answers": []}, "steps[0].inputs.image", ""),
        ({"steps": [], "answers": "s1"}, "answers", ""),
        ({"steps": [], "answers": [], "stepz": 1}, "plan", ""),
        ({"steps": [], "answers": ["x"] * 1001}, "", ""),
        ('{"steps": [', "character 12", ""),
    ],
    "controlllm": [
        ([3], "[0]", "an action is a JSON object, not a number"),
        ([DETECT, [3]], "[1][0]", "not a number"),
        ([{"inputs": {}}], "[0]", "tool's name"),
        ([{"tool": "x", "tool_name": "x"}], "[0]", "mean the same"),
        ([{"tool": "x", "inputs": 3}], "[0].inputs", "not a number"),
        ([{"tool": "x", "args": [{"value": "a"}]}], "[0].args[0].name", "missing"),
        ([{"tool": "x", "args": [{"name": "a"}, {"name": "a"}]}], "[0].args[1]", "occurs twice"),
        ([{"tool": "x", "inputs": {}, "outputs": [3]}], "[0].outputs[0]", "not a number"),
        ({"solution": [{"tool": ""}]}, "plan.solution[0]", "empty text"),
        ({"tasks": []}, "plan", "solution"),
        ("[{", "character 3", "not valid JSON"),
        ('[\n {"tool": "x" "inputs"}]', "line 2, column 15", "not valid JSON"),
        ([DETECT] * 101, "", "at most 100"),
    ],
    "printed": [
        ("", "character 1", "empty"),
        ("[Action(", "character 9", "the end"),
        ("[Action('x', {'a': 'b' []})]", "character 24", "expected ',' or '}'"),
        ("[Action('x', {'a': 'b}, [\"c\"])]", "character 20", "never closed"),
        ("[Action(tool_name='x', inputs={'a': b})]", "character 37", "texts stand in quotes"),
        ("[Action(inputs={})]", "character 2", "tool_name"),
        ("[Action('x', inputs={}, inputs={})]", "character 25", "twice"),
        ("[Action('x', {}, [3])]", "character 18", "a number"),
        ("[Action('x', result=[])]", "character 14", "no 'result'"),
        ("[Action('x')\n, Act()]", "line 2, column 3", "expected 'Action"),
        ("Action('x') and so on", "character 13", "expected 'Action"),
        ("[Action('x', {'a': 1, 'a': 2})]", "character 23", "twice"),
        (r"Action('x', {'a': '\ud800'})", "character 20", "no character"),
        (r"Action('x', {'a': '\x4'})", "character 20", "hexadecimal"),
        (r"Action('x', {'a': '\ud83d\ude0u'})", "character 20", "no character"),
    ],
    "decomposition": [
        ("<Solution>[{]</Solution>", "character 13", "key in quotes"),
        ("<Solution>\n[{}, 3]</Solution>", "[0].id", "missing"),
        ("<Solution>{}</Solution>", "decomposition", "must be a list"),
        ("<Solution>[] and more</Solution>", "character 14", "expected the end"),
        (solution(3), "[0]", "a subtask is an object"),
        (solution(SUBTASK | {"id": True}), "[0].id", "whole number"),
        (solution(SUBTASK | {"dep": ["x"]}), "[0].dep[0]", "whole number"),
        (solution(SUBTASK | {"args": [{"type": "image", "value": [1]}]}), "[0].args[0].value", "a list"),
        (solution(SUBTASK | {"args": [{"value": "x"}]}), "[0].args[0].type", "missing"),
        (solution(SUBTASK | {"return": []}), "[0]", "mean the same"),
        (solution(SUBTASK, SUBTASK), "[1].id", "two subtasks"),
        ("", "character 1", "expected a value"),
    ],
    "tree": [
        ("(A,)(B,", "character 5", "never closed"),
        ("(A,))", "character 5", "closes nothing"),
        ("A,(B,)", "character 3", "must follow the names"),
        ("()()", "", "empty"),
        ("(" * 30, "character 22", "more than 20 deep"),
        ("(A,)\n(B,))", "line 2, column 5", "closes nothing"),
    ],
    "hugginggpt": [
        ({}, "", "a task list is a list"),
        ([3], "[0]", "a task is a JSON object"),
        ([task(0, "", {})], "[0].task", "empty text"),
        ([task(None, "x", {})], "[0].id", "whole number"),
        ([task(0, "x", [])], "[0].args", "must be an object"),
        ([task(0, "x", {}), task(0, "x", {})], "[1].id", "two tasks"),
        ([{"task": "x", "id": 0, "dep": 3, "args": {}}], "[0].dep", "list of ids"),
    ],
    "tool_calls": [
        ({"tool_calls": {}}, "tool_calls", "tool calls are a list"),
        ({"tool_calls": [{"id": "a"}]}, "tool_calls[0]", "no tool call"),
        ([call("b", "x"), []], "[1]", "a text or an object"),
        ([call("b", "x"), {"id": "a"}], "[1]", "neither a text nor a call"),
        ([call("b", "x") | {"id": []}], "[0].id", "a list"),
        ([call("a", "")], "[0].function.name", "empty text"),
        ([call("a", "x"), call("a", "x")], "[1].id", "two calls"),
        ([call("a", "x") | {"type": "custom"}], "[0].type", '"function"'),
        ([{"id": "a", "function": {"name": "x", "arguments": '{"a"}'}}], "[0], character 5", "JSON"),
        ([{"id": "a", "function": {"name": "x", "arguments": "[]"}}], "[0]", "not a list"),
    ],
    "lumos": [
        ("", "character 1", "empty"),
        ("R1 = (", "character 6", "expected a tool's name"),
        ("R1 = f", "character 7", r"expected '\(' after the tool 'f'"),
        ("R1 = f(a", "character 7", "never closed"),
        ("R1 = f('a", "character 8", "quote is never closed"),
        ("R1 = f(a=1, a=2)", "character 13", "twice"),
        ("R1 = f(a=1, 2)", "character 13", "without a name"),
        ("R1 = f(,)", "character 8", "expected a value"),
        ("R1 = f(a]b)", "character 9", "expected '\\)' before ']'"),
        ("R1 = f(a) g(b)", "character 11", "';' or a new line"),
        ("R1 = f(a)\nR2 = g('b' c)", "line 2, column 12", "after an argument"),
        ("R1 = f([a, [b])", "character 15", "expected ']' before '\\)'"),
    ],
}
"""By reader: what it reads, where the error is, and what it says."""


@pytest.mark.parametrize("form", MALFORMED)
def test_what_is_malformed_says_where(form):
    for value, where, says in MALFORMED[form]:
        with pytest.raises(PlanSyntaxError, match=says or None) as caught:
            READERS[form](value)
        assert caught.value.where == where, value

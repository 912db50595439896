# ruff: noqa: E501 - each reply is written in one line
"""The same two calls, as services and chat templates write them, are the same plan."""

import json

import pytest

from evaluator.core.plans.model import PlanContext, PlanSyntaxError
from evaluator.core.tools.catalogues import CONTROLLLM
from evaluator.core.tools.types import ResourceType
from evaluator.replies.read import read_plan

CONTEXT = PlanContext(catalogue=CONTROLLLM, resources={"a.png": ResourceType.IMAGE}, expects=ResourceType.BBOX)
DETECT, SELECT = "object_detection", "select_bbox"
IMAGE = {"image": "a.png"}


def select(reference="call_1"):
    return {"bbox_list": reference, "condition": "train"}


def written(write, reference="call_1"):
    return [write(DETECT, IMAGE), write(SELECT, select(reference))]


def dump(value):
    return json.dumps(value)


PLAN = {
    "steps": [
        {"id": "s1", "tool": DETECT, "inputs": IMAGE, "outputs": {"object": "s1.object"}},
        {"id": "s2", "tool": SELECT, "inputs": select("s1.object"), "outputs": {"result": "s2.result"}},
    ],
    "answers": ["s2.result"],
}
BLOCKS = [
    {"type": "thinking", "thinking": "Boxes first."},
    {"type": "text", "text": "I detect, then select."},
    {"type": "tool_use", "id": "toolu_1", "name": DETECT, "input": IMAGE},
    {"type": "tool_use", "id": "toolu_2", "name": SELECT, "input": select("toolu_1")},
]
CHAT_CALLS = [
    {"id": "a", "type": "function", "function": {"name": DETECT, "arguments": dump(IMAGE)}},
    {"id": "b", "type": "function", "function": {"name": SELECT, "arguments": dump(select("a"))}},
]
RESPONSE_CALLS = [
    {"type": "reasoning", "summary": []},
    {"type": "function_call", "call_id": "a", "name": DETECT, "arguments": dump(IMAGE)},
    {"type": "function_call", "call_id": "b", "name": SELECT, "arguments": dump(select("a"))},
]
LANGCHAIN_CALLS = [
    {"name": DETECT, "args": IMAGE, "id": "a", "type": "tool_call"},
    {"name": SELECT, "args": select("a"), "id": "b", "type": "tool_call"},
]
TOOL_USES = [
    {"toolUse": {"toolUseId": "t1", "name": DETECT, "input": IMAGE}},
    {"toolUse": {"toolUseId": "t2", "name": SELECT, "input": select("t1")}},
]


def tagged(name, arguments):
    return f"<tool_call>\n{dump({'name': name, 'arguments': arguments})}\n</tool_call>"


def parameters(arguments, form):
    return "".join(form.format(name=name, value=value) for name, value in arguments.items())


def coder(name, arguments):
    inside = parameters(arguments, "<parameter={name}>\n{value}\n</parameter>\n")
    return f"<tool_call>\n<function={name}>\n{inside}</function>\n</tool_call>"


def glm(name, arguments):
    inside = parameters(arguments, "<arg_key>{name}</arg_key>\n<arg_value>{value}</arg_value>\n")
    return f"<tool_call>{name}\n{inside}</tool_call>"


def invoke(name, arguments):
    inside = parameters(arguments, '<parameter name="{name}">{value}</parameter>\n')
    return f'<invoke name="{name}">\n{inside}</invoke>'


def marked_invoke(name, arguments):
    inside = parameters(
        arguments, '<\uff5cDSML\uff5cparameter name="{name}" string="true">{value}</\uff5cDSML\uff5cparameter>'
    )
    return f'<\uff5cDSML\uff5cinvoke name="{name}">{inside}</\uff5cDSML\uff5cinvoke>'


def fenced_call(name, arguments):
    body = f"function<\uff5ctool\u2581sep\uff5c>{name}\n```json\n{dump(arguments)}\n```"
    return f"<\uff5ctool\u2581call\u2581begin\uff5c>{body}<\uff5ctool\u2581call\u2581end\uff5c>"


def bare_call(name, arguments):
    body = f"{name}<\uff5ctool\u2581sep\uff5c>{dump(arguments)}"
    return f"<\uff5ctool\u2581call\u2581begin\uff5c>{body}<\uff5ctool\u2581call\u2581end\uff5c>"


def kimi(name, arguments):
    return f"<|tool_call_begin|>functions.{name}:0<|tool_call_argument_begin|>{dump(arguments)}<|tool_call_end|>"


def harmony(name, arguments):
    return f"<|start|>assistant<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{dump(arguments)}<|call|>"


def react(name, arguments):
    return f"Thought: next\nAction: {name}\nAction Input: {dump(arguments)}\n"


def named(key, **more):
    return lambda name, arguments: {"name": name, key: arguments} | more


PYTHON = f'{DETECT}(image="a.png"), {SELECT}(bbox_list=call_1, condition="train")'
REPLIES = {
    "plan": PLAN,
    "chat": {"choices": [{"index": 0, "message": {"role": "assistant", "content": None, "tool_calls": CHAT_CALLS}}]},
    "chat, arguments encoded twice": [
        call | {"function": call["function"] | {"arguments": dump(call["function"]["arguments"])}} for call in CHAT_CALLS
    ],
    "chat, arguments in Python": [
        call | {"function": call["function"] | {"arguments": repr(json.loads(call["function"]["arguments"]))}}
        for call in CHAT_CALLS
    ],
    "chat, text": {"choices": [{"message": {"content": dump(PLAN), "reasoning_content": "Hm."}}]},
    "chat, parts": {"role": "assistant", "content": [{"type": "text", "text": dump(PLAN)}]},
    "chat, stream": "".join(
        f"data: {dump({'choices': [{'delta': {'content': part}}]})}\n\n" for part in (dump(PLAN)[:40], dump(PLAN)[40:])
    ) + "data: [DONE]\n\n",
    "ollama": {"message": {"tool_calls": written(lambda n, a: {"function": {"name": n, "arguments": a}})}, "done": True},
    "responses": {"object": "response", "output": RESPONSE_CALLS},
    "responses, items": RESPONSE_CALLS,
    "responses, text": {
        "object": "response", "output": [{"type": "message", "content": [{"type": "output_text", "text": dump(PLAN)}]}],
    },
    "anthropic": {"type": "message", "role": "assistant", "content": BLOCKS, "stop_reason": "tool_use"},
    "anthropic, blocks": BLOCKS,
    "anthropic, blocks as text": dump(BLOCKS),
    "bedrock": {"output": {"message": {"role": "assistant", "content": TOOL_USES}}, "stopReason": "tool_use"},
    "gemini": {"candidates": [{"content": {"role": "model", "parts": [
        {"text": "Hm.", "thought": True}, {"functionCall": {"name": DETECT, "args": IMAGE}},
        {"functionCall": {"name": SELECT, "args": select()}},
    ]}}]},
    "gemini, snake case": written(lambda n, a: {"function_call": {"name": n, "args": a}}),
    "langchain": {"type": "ai", "content": "", "tool_calls": LANGCHAIN_CALLS},
    "langchain, calls": LANGCHAIN_CALLS,
    "langchain, constructor": {
        "lc": 1, "type": "constructor", "id": ["AIMessage"], "kwargs": {"content": "", "tool_calls": LANGCHAIN_CALLS},
    },
    "several at once": {"tool_uses": written(lambda n, a: {"recipient_name": f"functions.{n}", "parameters": a})},
    "several in one call": {"recipient_name": "multi_tool_use.parallel", "parameters": {
        "tool_uses": written(lambda n, a: {"recipient_name": f"functions.{n}", "parameters": a}),
    }},
    "hermes": "\n".join(written(tagged)),
    "hermes, after prose": "I detect first.\n" + "\n".join(written(tagged)),
    "hermes, never closed": "\n".join(written(tagged)).removesuffix("</tool_call>"),
    "hermes, by the tool's name": "\n".join(written(tagged, DETECT)),
    "hermes, by number": "\n".join(written(tagged, "step 1")),
    "hermes, in braces": "\n".join(written(tagged, "{{call_1.object}}")),
    "qwen-coder": "\n".join(written(coder)),
    "glm": "\n".join(written(glm)),
    "invoke": "<function_calls>\n" + "\n".join(written(invoke)) + "\n</function_calls>",
    "invoke, marked": f"<\uff5cDSML\uff5cfunction_calls>{''.join(written(marked_invoke))}</\uff5cDSML\uff5cfunction_calls>",
    "mistral": f"[TOOL_CALLS] {dump(written(named('arguments')))}</s>",
    "mistral, named": "".join(written(lambda n, a: f"[TOOL_CALLS]{n}[ARGS]{dump(a)}")) + "</s>",
    "mistral, ids": "".join(
        f"[TOOL_CALLS]{n}[CALL_ID]{i}[ARGS]{dump(a)}" for n, i, a in ((DETECT, "aaaaaaaaa", IMAGE), (SELECT, "bbbbbbbbb", select("aaaaaaaaa")))
    ),
    "llama": "<|python_tag|>" + "; ".join(map(dump, written(named("parameters")))) + "<|eom_id|>",
    "llama, functions": "".join(written(lambda n, a: f"<function={n}>{dump(a)}</function>")),
    "llama, python": f"[{PYTHON}]",
    "llama, lines": "\n".join(map(dump, written(named("parameters")))),
    "python, nested": f'{SELECT}(bbox_list={DETECT}(image="a.png"), condition="train")',
    "python, assigned": f'boxes = {DETECT}(image="a.png")\n{SELECT}(bbox_list=boxes, condition="train")',
    "python, by place": f'[{DETECT}("a.png"), {SELECT}(call_1, "train")]',
    "gemma": f'```tool_code\nboxes = {DETECT}(image="a.png")\nprint({SELECT}(bbox_list=boxes, condition="train"))\n```',
    "deepseek": f"<\uff5ctool\u2581calls\u2581begin\uff5c>{''.join(written(fenced_call))}<\uff5ctool\u2581calls\u2581end\uff5c>",
    "deepseek 3.1": f"<\uff5ctool\u2581calls\u2581begin\uff5c>{''.join(written(bare_call))}<\uff5ctool\u2581calls\u2581end\uff5c>",
    "kimi": f"<|tool_calls_section_begin|>{''.join(written(kimi, f'functions.{DETECT}:0'))}<|tool_calls_section_end|>",
    "harmony": "<|channel|>analysis<|message|>Hm {}.<|end|>" + "".join(written(harmony)),
    "command": "<|START_ACTION|>" + dump([
        {"tool_call_id": str(number), "tool_name": name, "parameters": arguments}
        for number, (name, arguments) in enumerate([(DETECT, IMAGE), (SELECT, select("0"))])
    ]) + "<|END_ACTION|>",
    "granite": f"<|tool_call|>{dump(written(named('arguments')))}",
    "functionary": f"functools{dump(written(named('arguments')))}",
    "lfm": f"<|tool_call_start|>[{PYTHON}]<|tool_call_end|>",
    "nemotron": f"<TOOLCALL>{dump(written(named('arguments')))}</TOOLCALL>",
    "jamba": f"<tool_calls>{dump(written(named('arguments')))}</tool_calls>",
    "functionary 3.2": "".join(written(lambda n, a: f">>>{n}\n{dump(a)}\n")),
    "functionary 2": "".join(written(lambda n, a: f"<|from|>assistant\n<|recipient|>{n}\n<|content|>{dump(a)}<|stop|>")),
    "functionary, after words": ">>>all\nI detect first.\n" + "".join(written(lambda n, a: f">>>{n}\n{dump(a)}\n")),
    "hunyuan": "<tool_calls>" + "".join(
        written(lambda n, a: f"<tool_call>{n}\n```json\n{dump(a)}\n```</tool_call>")
    ) + "</tool_calls>",
    "vercel": {"toolCalls": [
        {"type": "tool-call", "toolCallId": "a", "toolName": DETECT, "input": IMAGE},
        {"type": "tool-call", "toolCallId": "b", "toolName": SELECT, "args": select("a")},
    ]},
    "agent, tools": written(lambda n, a: {"tool": n, "tool_input": a}, DETECT),
    "controlllm, arguments alone": written(lambda n, a: {"tool": n, "args": a}, f"{DETECT}.object"),
    "chat, arguments in a fence": [
        call | {"function": call["function"] | {"arguments": f"```json\n{call['function']['arguments']}\n```"}}
        for call in CHAT_CALLS
    ],
    "ollama, completion": {"model": "m", "response": dump(PLAN), "done": True},
    "completion": {"choices": [{"text": dump(PLAN), "index": 0, "finish_reason": "stop"}], "object": "text_completion"},
    "generated text": [{"generated_text": f"```json\n{dump(PLAN)}\n```"}],
    "python, printed": f'```python\nboxes = {DETECT}(image="a.png")\none = {SELECT}(bbox_list=boxes, condition="train")\nprint(one)\n```',
    "smolagents, fence": f'Code:\n```py\none = {SELECT}(bbox_list={DETECT}(image="a.png"), condition="train")\nfinal_answer(one)\n```<end_code>',
    "smolagents": f'Thought: detect.\n<code>\nboxes = {DETECT}(image="a.png")\none = {SELECT}(bbox_list=boxes, condition="train")\nfinal_answer(one)\n</code>',
    "xlam": written(named("arguments")),
    "agent": "\n".join(f"```json\n{dump(item)}\n```" for item in [written(lambda n, a: {"action": n, "action_input": a})]),
    "react": "".join(written(react, "result-1")) + "Final Answer: result-2",
}  # fmt: skip


def solution(value):
    plan = read_plan(value=value, context=CONTEXT).plan
    first, second = plan.steps
    assert dict(first.inputs) == IMAGE
    assert (second.inputs["bbox_list"], second.inputs["condition"]) == (next(iter(first.outputs.values())), "train")
    assert plan.answers == tuple(second.outputs.values())
    return plan.tools()


@pytest.mark.parametrize("name", REPLIES)
def test_a_dialect_is_read_as_the_calls_that_it_writes(name):
    value = json.loads(REPLIES[name]) if isinstance(REPLIES[name], bytes) else REPLIES[name]
    assert solution(value) == (DETECT, SELECT)


WRAPPED = {
    "fence": "Here it is:\n```json\n{}\n```\nDone.",
    "fence without a label": "```\n{}\n```",
    "fence, never closed": "```json\n{}",
    "fence in a line": "```json {}```",
    "two equal fences": "```json\n{0}\n```\nAgain:\n~~~\n{0}\n~~~",
    "a fence that is called final": '```json\n{{"steps": [], "answers": []}}\n```\nFinal plan:\n```\n{}\n```',
    "prose before": "Sure! {}",
    "prose after": "{}\n\nIt detects, then selects.",
    "reasoning": "<think>Maybe {{\"steps\": []}}?</think>\n{}",
    "reasoning whose beginning the template wrote": '{{"steps": [], "answers": []}} no.\n</think>\n\n{}',
    "reasoning after it": "{}\n<think>Done.</think>",
    "reasoning of Magistral": "[THINK]Hm, [1, 2].[/THINK]{}",
    "channels": '<|channel|>analysis<|message|>{{"steps": []}}<|end|><|start|>assistant<|channel|>final<|message|>{}<|return|>',
    "channels without their tokens": 'analysisMaybe {{"steps": []}}.assistantfinal{}',
    "role": "<|start_header_id|>assistant<|end_header_id|>\n\n{}<|eot_id|>",
    "a later turn": "{}<|im_end|>\n<|im_start|>user\nThanks!",
    "answer tag": "<answer>\n{}\n</answer>",
    "invisible characters": "\ufeff\u200b{}\u200b",
}  # fmt: skip


@pytest.mark.parametrize("name", WRAPPED)
def test_a_plan_in_an_envelope_is_the_bare_plan(name):
    text = WRAPPED[name].format(dump(PLAN))
    parsed = read_plan(value=text, context=CONTEXT)
    assert parsed.plan == read_plan(value=PLAN, context=CONTEXT).plan
    assert any(note.startswith("envelope: ") for note in parsed.tolerated)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"<think>{dump(PLAN)}", "never ends"),
        (f"Sure <think>{dump(PLAN)}", "never ends"),
        (f"<|channel|>analysis<|message|>{dump(PLAN)}<|end|>", "never ends"),
        (f"{dump(PLAN)}\n{dump(PLAN | {'answers': ['s1.object']})}", "only one can be the plan"),
        (f"```\n{dump(PLAN)}\n```\n```\n{dump(PLAN | {'answers': ['s1.object']})}\n```", "only one can be the plan"),
        (f"{tagged(DETECT, IMAGE)}\n{dump(PLAN)}", "only one can be the plan"),
        (f"```json\n{dump(PLAN)[:-20]}\n```", "never closed|cut off|expected"),
        ({"choices": [{"message": {"content": None}, "finish_reason": "length"}]}, "neither a text nor a call"),
        (f"{dump(PLAN)}\n{DETECT}(image='a.png')", "another plan beside"),
        (f"{dump(PLAN)}\n{react(DETECT, IMAGE)}", "another plan beside"),
        (f"({DETECT})\n{dump(PLAN)}", "another plan beside"),
        (f"Now >>>{DETECT}\n{dump(IMAGE)}\n>>>{SELECT}\n{dump(select())}", "begin a line"),
        (f"{DETECT}(image='a.png') {SELECT}(bbox_list=call_1, condition='train')", "new line"),
        (
            f"a = {DETECT}(image='a.png')\nb = {SELECT}(bbox_list=a, condition='x')\nfinal_answer(a)",
            "final answer is a",
        ),
        (f"a = {DETECT}(image='a.png')\nprint(b)", "no call before this gives b"),
        ("print(" * 5000, "nested"),
        ("<tool_calls></tool_calls>", "no call between the marks"),
        ([{"tool": DETECT, "params": IMAGE}], "under 'inputs' or 'args'"),
        (f"<tool_call>{dump({'name': '<b>x</b>', 'arguments': {}})}</tool_call>", "no name of a tool"),
        ("```\nx\n```\n" * 60, "60 code fences"),
        ({"choices": [{"message": {"content": dump(PLAN)}}] * 2}, "2 answers"),
        ([*BLOCKS[:3], {"type": "tool_use", "id": "x"}], "name"),
        ([*BLOCKS[1:3], {"odd": 1}], "neither a text nor a call"),
    ],
)
def test_what_is_cut_off_or_ambiguous_is_no_plan(text, says):
    with pytest.raises(PlanSyntaxError, match=says):
        read_plan(value=text, context=CONTEXT)


@pytest.mark.parametrize(
    ("arguments", "read"),
    [
        ({"Image": "a.png"}, {"image": "a.png"}),
        ({"picture": "a.png"}, {"image": "a.png"}),
        ({"input": "a.png"}, {"image": "a.png"}),
        ({"image": "a.png", "picture": "b.png"}, {"image": "a.png", "picture": "b.png"}),
        ({"odd": "a.png"}, {"odd": "a.png"}),
    ],
)
def test_an_argument_may_have_an_alias_of_the_catalogue(arguments, read):
    plan = read_plan(value=[{"name": DETECT, "arguments": arguments}], context=CONTEXT).plan
    assert dict(plan.steps[0].inputs) == read


ALIASED = {
    "plan": {"steps": [{"id": "s1", "tool": DETECT, "inputs": {"picture": "a.png"}}], "answers": ["s1.object"]},
    "controlllm": [{"tool": DETECT, "inputs": {"picture": "a.png"}, "outputs": ["x"]}],
    "hugginggpt": [{"task": DETECT, "id": 0, "dep": [-1], "args": {"picture": "a.png"}}],
    "assignments": f"R1 = {DETECT}(picture='a.png')",
    "calls": [{"name": DETECT, "arguments": {"picture": "a.png"}}],
    "python": f"{DETECT}(picture='a.png')",
}


@pytest.mark.parametrize("name", ALIASED)
def test_each_form_with_named_arguments_accepts_the_aliases_and_records_them(name):
    parsed = read_plan(value=ALIASED[name], context=CONTEXT)
    assert dict(parsed.plan.steps[0].inputs) == IMAGE
    assert any("'picture' as 'image'" in note for note in parsed.tolerated)


@pytest.mark.parametrize("key", ["confidence", "reason", "summary", "usage"])
def test_a_remark_of_structured_outputs_is_ignored_and_recorded(key):
    parsed = read_plan(value=PLAN | {key: None}, context=CONTEXT)
    assert parsed.plan == read_plan(value=PLAN, context=CONTEXT).plan
    assert parsed.tolerated == (f"plan: ignored the remark {key!r}",)


CUT = "<tool_call>object_detection\n<arg_key>image</arg_key>\n<arg_value>a.png"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (CUT, "never closed"),
        (f"{CUT}</arg_value>\n<arg_key>odd", "expected a parameter|never closed"),
        (f"{CUT}</arg_value>", "never closed"),
        ('<invoke name="object_detection"><parameter name="image">a.p', "never closed"),
        ('<invoke name="object_detection"><parameter name="image">a.png</parameter>', "never closed"),
        ("<function=object_detection><parameter=image>a.png</parameter>", "never closed"),
        (invoke(DETECT, IMAGE).replace("</invoke>", '<parameter name="image">b.png</parameter></invoke>'), "twice"),
        (
            '<tool_call>{"name": "object_detection", "arguments": {"image": "a.png", "image": "b.png"}}</tool_call>',
            "twice",
        ),
        (
            f"```\n{dump(PLAN)}\n```\nThis is not the final plan:\n```\n{dump(PLAN | {'answers': []})}\n```",
            "only one can",
        ),
        ('data: {"choices": [{"delta": {"tool_calls": [1]}}]}\n\n', "part of a call"),
        ('data: {"choices": [{"delta": {"tool_calls": 1}}]}\n\n', "neither a text nor a call"),
        (
            'data: {"type": "content_block_start", "index": [], "content_block": {"type": "tool_use"}}\n\n',
            "names no tool",
        ),
        ('data: {"error": {"message": "overloaded"}}\n\n', "reports an error"),
    ],
)
def test_calls_that_are_cut_off_or_broken_are_no_plan(text, says):
    with pytest.raises(PlanSyntaxError, match=says):
        read_plan(value=text, context=CONTEXT)


@pytest.mark.parametrize("literal", ["<answer>x", "```json {} ```", "<tool_call>", "[TOOL_CALLS] []", "Final: ~~~"])
def test_marks_in_a_literal_after_prose_are_its_text(literal):
    plan = json.loads(dump(PLAN))
    plan["steps"][1]["inputs"]["condition"] = literal
    read = read_plan(value=f"Sure! {dump(plan)}", context=CONTEXT).plan
    assert read.steps[1].inputs["condition"] == literal


def test_an_alias_of_several_arguments_is_none():
    call = {"name": "image_question_answering", "arguments": {"input": "a.png", "question": "What?"}}
    plan = read_plan(value=[call], context=CONTEXT).plan
    assert dict(plan.steps[0].inputs) == {"input": "a.png", "text": "What?"}


def test_a_text_that_is_a_reference_only_by_its_words_stays_a_text():
    calls = [
        {"name": DETECT, "arguments": IMAGE},
        {"name": SELECT, "arguments": {"bbox_list": DETECT, "condition": DETECT}},
    ]
    plan = read_plan(value=calls, context=CONTEXT).plan
    assert dict(plan.steps[1].inputs) == {"bbox_list": "call_1.object", "condition": DETECT}

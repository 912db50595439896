# ruff: noqa: E501 - each reply is written in one line
"""Replies in the dialects of services and chat templates: 20 gold plans of toolmini in each.

Tokens, tags and keys are those of the model cards, chat templates and API references; the prose is ours. A writer gets
the calls of a plan, with a reference as `Result(k)` to the k-th call, and the number of the plan for variations.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from evaluator.core.plans.model import Plan, plan_to_json
from evaluator.core.suites.registry import suite_of
from evaluator.replies.actions import unused_outputs

BAR, LOW = "\uff5c", "\u2581"
PROSE = ("", "I will call the tools in order.\n", "Sure! Here is what I do:\n\n", "Okay.\n")
COUNT = 20


@dataclass(frozen=True, slots=True)
class Result:
    """The output of an earlier call."""

    call: int
    output: str
    is_first: bool


@dataclass(frozen=True, slots=True)
class Invocation:
    """A call of a plan."""

    tool: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply with the task whose gold plan it is."""

    dialect: str
    value: Any
    task: Any


def invocations(plan: Plan) -> tuple[Invocation, ...]:
    """The calls of a plan in its order."""
    made = {
        reference: Result(number, output, is_first=place == 0)
        for number, step in enumerate(plan.steps)
        for place, (output, reference) in enumerate(step.outputs.items())
    }
    return tuple(
        Invocation(step.tool, {name: made.get(value, value) for name, value in step.inputs.items()})
        for step in plan.steps
    )


def answers(plan: Plan) -> set[tuple[int, str]]:
    """The answers of a plan, by the number of the step and the name of its output."""
    return {
        (number, output)
        for number, step in enumerate(plan.steps)
        for output, reference in step.outputs.items()
        if reference in plan.answers
    }


def named(calls, name=lambda number: f"call_{number + 1}"):
    """The calls with references by name."""

    def value(item):
        if not isinstance(item, Result):
            return item
        return name(item.call) if item.is_first else f"{name(item.call)}.{item.output}"

    return [(call.tool, {key: value(item) for key, item in call.arguments.items()}) for call in calls]


def dump(value, number=0):
    """JSON with the blanks of the number's style."""
    return json.dumps(value, ensure_ascii=bool(number % 2), indent=(None, None, 2)[number % 3])


def canonical(plan, number):
    return [
        plan_to_json(plan),
        dump(plan_to_json(plan), number),
        {"plan": plan_to_json(plan)},
        repr(plan_to_json(plan)),
    ][number % 4]


def chat(calls, number):
    items = [
        {"id": f"call_{index}x", "type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}}
        for index, (tool, arguments) in enumerate(named(calls, lambda place: f"call_{place}x"))
    ]
    if number % 4 == 1:  # encoded twice
        items = [
            item | {"function": item["function"] | {"arguments": json.dumps(item["function"]["arguments"])}}
            for item in items
        ]
    message = {"role": "assistant", "content": None if number % 2 else "", "tool_calls": items}
    return [
        message,
        {"choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}]},
        items,
        json.dumps(message),
    ][number % 4]


def ollama(calls, number):
    items = [{"function": {"name": tool, "arguments": arguments}} for tool, arguments in named(calls)]
    return {"model": "m", "message": {"role": "assistant", "content": "", "tool_calls": items}, "done": bool(number)}


def responses(calls, number):
    items = [
        {
            "type": "function_call",
            "id": f"fc_{index}",
            "call_id": f"c{index}",
            "name": tool,
            "arguments": json.dumps(arguments),
            "status": "completed",
        }
        for index, (tool, arguments) in enumerate(named(calls, lambda place: f"c{place}"))
    ]
    output = [{"type": "reasoning", "id": "rs", "summary": []}, *items]
    return [output, {"id": "r", "object": "response", "status": "completed", "output": output}, items][number % 3]


def anthropic(calls, number):
    blocks = [
        {"type": "tool_use", "id": f"toolu_{index}", "name": tool, "input": arguments}
        for index, (tool, arguments) in enumerate(named(calls, lambda place: f"toolu_{place}"))
    ]
    blocks = [
        {"type": "thinking", "thinking": "Hm.", "signature": ""},
        {"type": "text", "text": PROSE[number % 4]},
        *blocks,
    ]
    return [
        blocks,
        {"id": "m", "type": "message", "role": "assistant", "content": blocks, "stop_reason": "tool_use"},
        json.dumps(blocks),
    ][number % 3]


def bedrock(calls, number):
    content = [
        {"toolUse": {"toolUseId": f"t{index}", "name": tool, "input": arguments}}
        for index, (tool, arguments) in enumerate(named(calls, lambda place: f"t{place}"))
    ]
    message = {"role": "assistant", "content": [{"reasoningContent": {"reasoningText": {"text": "Hm."}}}, *content]}
    return message if number % 2 else {"output": {"message": message}, "stopReason": "tool_use"}


def gemini(calls, number):
    key = "functionCall" if number % 2 else "function_call"
    parts = [
        {"text": "Hm.", "thought": True},
        *({key: {"name": tool, "args": arguments}} for tool, arguments in named(calls)),
    ]
    if number % 3:
        return {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}]}
    return parts[1:]


def langchain(calls, number):
    items = [
        {"name": tool, "args": arguments, "id": f"x{index}", "type": "tool_call"}
        for index, (tool, arguments) in enumerate(named(calls, lambda place: f"x{place}"))
    ]
    message = {"content": PROSE[number % 4], "tool_calls": items, "invalid_tool_calls": []}
    return [
        items,
        {"type": "ai", **message},
        {"type": "ai", "data": message},
        {"lc": 1, "type": "constructor", "id": ["AIMessage"], "kwargs": message},
    ][number % 4]


def hermes(calls, number):
    blocks = [
        f"<tool_call>\n{dump({'name': tool, 'arguments': arguments}, number)}\n</tool_call>"
        for tool, arguments in named(calls)
    ]
    end = ("", "<|im_end|>", "\n")[number % 3]
    return PROSE[number % 4] + "\n".join(blocks) + end


def thinking(calls, number):
    return f"<think>\nI could call {calls[0].tool}, or <tool_call> twice?\n</think>\n\n{hermes(calls, number)}"


def coder(calls, number):
    blocks = []
    for tool, arguments in named(calls):
        inside = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in arguments.items())
        blocks.append(f"<tool_call>\n<function={tool}>\n{inside}</function>\n</tool_call>")
    return PROSE[number % 4] + "\n".join(blocks)


def glm(calls, number):
    blocks = []
    for tool, arguments in named(calls):
        inside = "".join(
            f"<arg_key>{key}</arg_key>\n<arg_value>{value}</arg_value>\n" for key, value in arguments.items()
        )
        blocks.append(f"<tool_call>{tool}\n{inside}</tool_call>")
    return PROSE[number % 4] + "\n".join(blocks)


def invoke(calls, number):
    prefix = ("", "antml:", "minimax:")[number % 3]
    blocks = []
    for tool, arguments in named(calls):
        inside = "".join(
            f'<{prefix}parameter name="{key}">{value}</{prefix}parameter>\n' for key, value in arguments.items()
        )
        blocks.append(f'<{prefix}invoke name="{tool}">\n{inside}</{prefix}invoke>')
    around = f"{prefix}function_calls" if number % 2 else f"{prefix}tool_call"
    return f"{PROSE[number % 4]}<{around}>\n" + "\n".join(blocks) + f"\n</{around}>"


def dsml(calls, number):
    mark = f"{BAR}DSML{BAR}"
    blocks = []
    for tool, arguments in named(calls):
        inside = "".join(
            f'<{mark}parameter name="{key}" string="true">{value}</{mark}parameter>\n'
            for key, value in arguments.items()
        )
        blocks.append(f'<{mark}invoke name="{tool}">\n{inside}</{mark}invoke>\n')
    return f"{PROSE[number % 4]}<{mark}function_calls>\n{''.join(blocks)}</{mark}function_calls>"


def mistral(calls, number):
    items = named(calls, lambda place: f"callid{place:03}")
    if number % 3 == 0:
        return "[TOOL_CALLS] " + json.dumps(
            [
                {"name": tool, "arguments": arguments, "id": f"callid{index:03}"}
                for index, (tool, arguments) in enumerate(items)
            ]
        )
    if number % 3 == 1:
        return (
            "".join(
                f"[TOOL_CALLS]{tool}[CALL_ID]callid{index:03}[ARGS]{json.dumps(arguments)}"
                for index, (tool, arguments) in enumerate(items)
            )
            + "</s>"
        )
    return "".join(f"[TOOL_CALLS]{tool}[ARGS]{json.dumps(arguments)}" for tool, arguments in named(calls))


def llama(calls, number):
    items = [{"name": tool, "parameters": arguments} for tool, arguments in named(calls)]
    return [
        "<|python_tag|>" + "; ".join(map(json.dumps, items)) + "<|eom_id|>",
        "\n".join(map(json.dumps, items)),
        "".join(f"<function={item['name']}>{json.dumps(item['parameters'])}</function>" for item in items)
        + "<|eot_id|>",
        json.dumps(items),
    ][number % 4]


def python_call(tool, arguments):
    return f"{tool}({', '.join(f'{key}={value}' for key, value in arguments.items())})"


def pythonic(calls, number):
    written = [
        python_call(call.tool, {
            key: (f"call_{item.call + 1}" if item.is_first else f"call_{item.call + 1}.{item.output}") if isinstance(item, Result) else repr(item)
            for key, item in call.arguments.items()
        }) for call in calls
    ]  # fmt: skip
    if number % 3 == 0:
        return f"[{', '.join(written)}]"
    if number % 3 == 1:
        return f"<|tool_call_start|>[{', '.join(written)}]<|tool_call_end|>"
    return "```tool_code\n" + "\n".join(f"call_{index + 1} = {call}" for index, call in enumerate(written)) + "\n```"


def deepseek(calls, number):
    begin, end, separator = (f"<{BAR}tool{LOW}{word}{BAR}>" for word in (f"call{LOW}begin", f"call{LOW}end", "sep"))
    bodies = [
        f"{begin}function{separator}{tool}\n```json\n{json.dumps(arguments)}\n```{end}"
        if number % 2
        else f"{begin}{tool}{separator}{json.dumps(arguments)}{end}"
        for tool, arguments in named(calls)
    ]
    return f"{PROSE[number % 4]}<{BAR}tool{LOW}calls{LOW}begin{BAR}>{''.join(bodies)}<{BAR}tool{LOW}calls{LOW}end{BAR}><{BAR}end{LOW}of{LOW}sentence{BAR}>"


def kimi(calls, number):
    items = named(calls, lambda place: f"functions.{calls[place].tool}:{place}")
    bodies = [
        f"<|tool_call_begin|>functions.{tool}:{index}<|tool_call_argument_begin|>{json.dumps(arguments)}<|tool_call_end|>"
        for index, (tool, arguments) in enumerate(items)
    ]
    return f"{PROSE[number % 4]}<|tool_calls_section_begin|>{''.join(bodies)}<|tool_calls_section_end|>"


def harmony(calls, number):
    bodies = [
        f"<|start|>assistant<|channel|>commentary to=functions.{tool} <|constrain|>json<|message|>{json.dumps(arguments)}<|call|>"
        for tool, arguments in named(calls)
    ]
    return f"<|channel|>analysis<|message|>Plan {number}: [1, 2]?<|end|>{''.join(bodies)}"


def command(calls, number):
    items = [
        {"tool_call_id": str(index), "tool_name": tool, "parameters": arguments}
        for index, (tool, arguments) in enumerate(named(calls, str))
    ]
    if number % 2:
        return f"<|START_THINKING|>Hm.<|END_THINKING|><|START_ACTION|>{json.dumps(items)}<|END_ACTION|>"
    return f"Action: ```json\n{json.dumps(items, indent=4)}\n```"


def marked(calls, number):
    items = json.dumps([{"name": tool, "arguments": arguments} for tool, arguments in named(calls)])
    return [
        f"<|tool_call|>{items}", f"functools{items}", f"<TOOLCALL>{items}</TOOLCALL>", f"<tool_calls>\n{items}\n</tool_calls>",
        f"<|tool_call|>{items}<|/tool_call|>",
    ][number % 5]  # fmt: skip


def react(calls, number):
    lines = []
    for tool, arguments in named(calls, lambda place: f"result-{place + 1}"):
        lines.append(f"Thought: I call {tool}.\nAction: {tool}\nAction Input: {json.dumps(arguments)}")
        if number % 2:
            lines.append("Observation: (a result)")
    return "\n".join(lines)


def fenced_plan(plan, number):
    text = dump(plan_to_json(plan), number)
    return [
        f"```json\n{text}\n```", f"Here is the plan:\n```\n{text}\n```\nShall I go on?", f"~~~json\n{text}\n~~~", f"```json\n{text}",
        f"```json\n{text}\n```\n\nTo repeat:\n\n```json\n{text}\n```",
    ][number % 5]  # fmt: skip


def prose_plan(plan, number):
    text = json.dumps(plan_to_json(plan))
    return [
        f"Sure! {text}", f"Here is the plan: {text}", f"{text}\n\nThe last step gives the answer.", f"<answer>{text}</answer>",
        f"The plan:\n\n{text}\n\nTell me if anything is missing.",
    ][number % 5]  # fmt: skip


def reasoned_plan(plan, number):
    text, draft = json.dumps(plan_to_json(plan)), '{"steps": []}'
    return [
        f"<think>\nMaybe {draft}? No.\n</think>\n\n{text}", f"{draft} is empty.\n</think>\n{text}", f"<reasoning>{draft}</reasoning>{text}",
        f"<|channel|>analysis<|message|>{draft}?<|end|><|start|>assistant<|channel|>final<|message|>{text}<|return|>",
        f"[THINK]{draft}[/THINK]{text}</s>", f"<|START_THINKING|>{draft}<|END_THINKING|>{text}", f"analysisTry {draft}.assistantfinal{text}",
    ][number % 7]  # fmt: skip


def streamed_plan(plan, number):
    text = json.dumps(plan_to_json(plan))
    cut = len(text) * (number + 1) // (COUNT + 1)
    events = [{"choices": [{"index": 0, "delta": {"content": part}}]} for part in (text[:cut], text[cut:])]
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"


CALLS: dict[str, Callable[..., Any]] = {
    "chat completions": chat, "ollama": ollama, "responses": responses, "anthropic": anthropic, "bedrock": bedrock,
    "gemini": gemini, "langchain": langchain, "hermes": hermes, "hermes after a thought": thinking, "qwen-coder": coder,
    "glm": glm, "invoke": invoke, "dsml": dsml, "mistral": mistral, "llama": llama, "pythonic": pythonic,
    "deepseek": deepseek, "kimi": kimi, "harmony": harmony, "command": command, "marked": marked, "react": react,
}  # fmt: skip
PLANS: dict[str, Callable[..., Any]] = {
    "plan/1": canonical, "plan in a fence": fenced_plan, "plan in prose": prose_plan, "plan after a thought": reasoned_plan,
    "plan in a stream": streamed_plan,
}  # fmt: skip


def replies() -> Iterator[Reply]:
    """All replies: `COUNT` of each dialect. Calls name no answers, so that these are what no step takes."""
    suite = suite_of("toolmini")
    golds = [(task, task.gold) for task in suite.tasks if task.gold is not None and task.gold.steps]
    tasks = [task for task, gold in golds if set(gold.answers) == set(unused_outputs(steps=gold.steps))]
    chosen = tasks[:: len(tasks) // COUNT][:COUNT]
    for number, task in enumerate(chosen):
        calls = invocations(task.gold)
        for dialect, write in CALLS.items():
            yield Reply(dialect, write(calls, number), task)
        for dialect, write in PLANS.items():
            yield Reply(dialect, write(task.gold, number), task)

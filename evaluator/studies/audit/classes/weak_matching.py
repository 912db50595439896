"""Do texts match that do not say what is wanted?"""

import re
from collections.abc import Callable
from functools import partial

from evaluator.core.planner import PlannerRequest
from evaluator.core.plans.model import plan_to_json
from evaluator.core.suites.base import Task
from evaluator.core.turns import TurnRequest
from evaluator.planners.ablations import with_texts
from evaluator.planners.attacks.base import (
    AnswersOf,
    Attack,
    Flaw,
    Knowledge,
    PlansOf,
    Target,
    empty_plan,
    on_answers,
    on_judged_texts,
    on_whole_plans,
)
from evaluator.planners.attacks.floors import with_every_text, without_names
from evaluator.planners.attacks.public_plans import literals_of

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_MOST_CHARACTERS = 2000
_MOST_NUMBERS = 200
_EMPTY = {
    "blank": " ",
    "a mark": "?",
    "wildcards": ".*",
    "SQL's wildcard": "%",
    "anything": "anything",
    "it": "it",
    "everything": "everything in it, whatever it is",
    "the main object": "the object that is meant",
    "the request": "what the user asks for",
    "null": "null",
    "letters of another script": "‮​ﬁ",
}
_VALUES = ("nan", "inf", "0/0", "about 1e400", "x", "=", "", "%", "None", "*", "[]", "{}")


def _all_words(request: PlannerRequest) -> str:
    words = re.findall(r"[^\W\d_]+", request.task.request)
    return ", ".join(dict.fromkeys(words))


def _copied(target: Target) -> PlansOf:
    """The gold plans with the request as every text, without the names of files."""
    return _with_texts(target, make=lambda task: without_names(task.text))


def _long_copied(target: Target) -> PlansOf:
    """The same with the request three times over."""
    return _with_texts(target, make=lambda task: " ".join([without_names(task.text)] * 3))


def _all_public(target: Target) -> PlansOf:
    """The gold plans with the shortest texts of public gold plans, joined, as every text."""
    known = {step.inputs[name] for task in target.public.tasks for step, name in literals_of(task)}
    text = ""
    for each in sorted(known, key=lambda text: (len(text), text)):
        if len(text) + len(each) > _MOST_CHARACTERS:
            break
        text += f"{each}, "
    return _with_texts(target, make=lambda _: text.rstrip(", ") or "thing")


def _with_texts(target: Target, *, make: Callable[[Task], str]) -> PlansOf:
    def plan(request: PlannerRequest) -> object:
        task = target.asked.task(request.task.id)
        if task.gold is None:
            return empty_plan()
        texts = {(step.id, slot): make(task) for step, slot in literals_of(task)}
        return plan_to_json(with_texts(plan=task.gold, texts=texts))

    return PlansOf("texts", plan)


def _is_right(target: Target) -> str:
    del target
    return "Where a request asks one tool for one thing, its own words are a right text."


def _inputs_as_answers(request: PlannerRequest) -> object:
    return {"steps": [], "answers": [f"${name}" for name in request.task.resources]}


def _likely_input_as_answer(request: PlannerRequest) -> object:
    kinds = {request.expects.type, *request.expects.types}
    named = [f"${name}" for name, kind in request.task.resources.items() if kind in kinds]
    return {"steps": [], "answers": named[:1]}


def _whole_numbers(request: TurnRequest) -> str:
    del request
    return " ".join(map(str, range(_MOST_NUMBERS)))


def _hedged(request: TurnRequest) -> str:
    """Each answer that a request might have, in a long sentence."""
    words = _all_words(request)
    return (
        f"It may be any of these: {words}, yes, no, none, nothing, {_whole_numbers(request)}; the first is most likely."
    )


def _answering(target: Target, *, value: str) -> AnswersOf:
    del target
    return AnswersOf("value", lambda _: value)


def _joined(target: Target) -> AnswersOf:
    """The most frequent words of the training answers, in one text."""
    answers = target.public.majority() if target.public.majority else {}
    text = " or ".join(dict.fromkeys(answers.values()))
    return AnswersOf("frequent", lambda _: text)


FLAW = Flaw(
    name="weak-matching",
    title="Weak matching",
    description="Does a text match that does not say what is wanted, or that says everything?",
    attacks=(
        *(
            Attack(
                name=f"empty text: {name}",
                description=f"Gives the right tools `{text.strip()}` as every text.",
                make=partial(with_every_text, text=text),
                knows=Knowledge.TOOLS,
                applies=on_whole_plans,
            )
            for name, text in _EMPTY.items()
        ),
        *(
            Attack(
                name=f"number that is none: {value or 'nothing'}",
                description=f"Answers each task with `{value}`.",
                make=partial(_answering, value=value),
                applies=on_answers,
            )
            for value in _VALUES
        ),
        *(
            Attack(
                name=name,
                description=f"Gives the right tools {words} as every text.",
                make=make,
                knows=Knowledge.TOOLS,
                applies=on_judged_texts,
                inherent=inherent,
            )
            for name, words, make, inherent in (
                ("copied requests", "the request", _copied, _is_right),
                ("copied requests, three times", "the request, three times,", _long_copied, _is_right),
                ("all public texts", "many texts of public gold plans", _all_public, lambda target: ""),  # noqa: ARG005
            )
        ),
        Attack(
            name="inputs as answers",
            description="Answers with all files of the request, as they are.",
            make=lambda _: PlansOf("inputs", _inputs_as_answers),
            applies=on_whole_plans,
        ),
        Attack(
            name="an input as the answer",
            description="Answers with the first file of the type that is expected, as it is.",
            make=lambda _: PlansOf("input", _likely_input_as_answer),
            applies=on_whole_plans,
        ),
        Attack(
            name="all whole numbers",
            description=f"Answers with all whole numbers below {_MOST_NUMBERS}.",
            make=lambda _: AnswersOf("whole", _whole_numbers),
            applies=on_answers,
        ),
        Attack(
            name="a verbose answer",
            description="Answers with a long sentence that has all words of the request and all small numbers.",
            make=lambda _: AnswersOf("verbose", _hedged),
            applies=on_answers,
        ),
        Attack(
            name="all numbers",
            description="Answers with every number of the request.",
            make=lambda _: AnswersOf("numbers", lambda request: " ".join(_NUMBER.findall(request.task.request))),
            applies=on_answers,
        ),
        Attack(
            name="all words",
            description="Answers with every word of the request.",
            make=lambda _: AnswersOf("words", _all_words),
            applies=on_answers,
        ),
        Attack(
            name="all frequent answers",
            description="Answers with the most frequent answers of all kinds of tasks, joined by `or`.",
            make=_joined,
            applies=on_answers,
        ),
        Attack(
            name="yes and no",
            description="Answers yes and no at once.",
            make=lambda _: AnswersOf("both", lambda _: "yes no"),
            applies=on_answers,
        ),
    ),
)

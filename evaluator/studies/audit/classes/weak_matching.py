"""Do texts match that do not say what is wanted?"""

import re

from evaluator.core.planner import PlannerRequest
from evaluator.planners.attacks.base import AnswersOf, Attack, Flaw, Knowledge, Target, on_answers, on_whole_plans
from evaluator.planners.attacks.floors import with_every_text

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_MOST_WORDS = 60
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


def _joined(target: Target) -> str:
    """The most frequent words of the training answers, in one text."""
    return " or ".join(dict.fromkeys((target.public.majority() if target.public.majority else {}).values()))


FLAW = Flaw(
    name="weak-matching",
    title="Weak matching",
    description="Does a text match that does not say what is wanted, or that says everything?",
    attacks=(
        *(
            Attack(
                name=f"empty text: {name}",
                description=f"Gives the right tools `{text.strip()}` as every text.",
                make=lambda target, text=text: with_every_text(target, text=text),
                knows=Knowledge.TOOLS,
                applies=on_whole_plans,
            )
            for name, text in _EMPTY.items()
        ),
        *(
            Attack(
                name=f"number that is none: {value or 'nothing'}",
                description=f"Answers each task with `{value}`.",
                make=lambda _, value=value: AnswersOf("value", lambda _: value),
                applies=on_answers,
            )
            for value in _VALUES
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
            make=lambda target: AnswersOf("frequent", lambda _, text=_joined(target): text),  # type: ignore[misc]
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

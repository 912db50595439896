"""Do texts match that do not say what is wanted?"""

import re
from functools import partial

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

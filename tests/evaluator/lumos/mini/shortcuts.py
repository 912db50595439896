"""Planners that have only learnt from tasks of open splits: a memoriser of templates, the nearest neighbour, and rules.

All answer with a whole list of turns for the words of a request.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import sqrt

from evaluator.core.planner import OfferedTool
from evaluator.core.records import PlannerCall
from evaluator.core.turns import Formulation, TurnReply, TurnRequest, TurnResponse
from evaluator.lumos.mini.draws import Drawn

Turns = Sequence[str]
"""The actions of each turn."""
Answer = Callable[[str, str], Turns]
"""From the group and the words of a request to its turns."""
_TOKEN = re.compile(r"[A-Za-z0-9]+(?:[-'][A-Za-z0-9]+)*|[^\sA-Za-z0-9]")


class Shortcut:
    """A planner that gives the turns of an answer one by one, then stops."""

    formulation = Formulation.INTEGRATED

    def __init__(self, name: str, answer: Answer) -> None:
        self.name = name
        self._answer = answer

    def turn(self, request: TurnRequest) -> TurnReply:
        turns = self._answer(group_of(request.tools), request.task.request)
        done = len(request.history)
        response = {"actions": turns[done]} if done < len(turns) else {"stop": True}
        return TurnReply(response=TurnResponse.model_validate(response), call=PlannerCall(seconds=0.0))


def group_of(tools: Sequence[OfferedTool]) -> str:
    """The group whose tools these are."""
    names = {tool.name for tool in tools}
    marks = {"Calculator": "maths", "SQL": "sql", "Search": "web", "VQA": "pictures", "KnowledgeQuery": "qa"}
    return next(group for mark, group in marks.items() if mark in names)


class TemplateMemoriser:
    """Makes a template of each known task: words that its solution repeats are slots, all others are kept.

    A request that fits a template gets its solution with the request's words.
    """

    def __init__(self, known: Mapping[str, Sequence[Drawn]]) -> None:
        self._templates = {
            group: {pattern: turns for task in tasks for pattern, turns in [_template(task)]}
            for group, tasks in known.items()
        }

    def __call__(self, group: str, text: str) -> Turns:
        words = " ".join(_TOKEN.findall(text))
        for pattern, turns in self._templates[group].items():
            if match := re.fullmatch(pattern, words):
                return [_filled(turn, match.groupdict()) for turn in turns]
        return []


def _template(task: Drawn) -> tuple[str, Turns]:
    words = _TOKEN.findall(task.text)
    repeated = {word for word in _TOKEN.findall(" ".join(turn.actions for turn in task.gold)) if word.isalnum()}
    names: dict[str, str] = {}
    parts = []
    for word in words:
        if word in names:
            parts.append(f"(?P={names[word]})")
        elif word in repeated:
            names[word] = f"s{len(names)}"
            parts.append(rf"(?P<{names[word]}>\S+)")
        else:
            parts.append(re.escape(word))
    turns = [
        re.sub(r"[A-Za-z0-9]+", lambda match: f"<{names[match[0]]}>" if match[0] in names else match[0], turn.actions)
        for turn in task.gold
    ]
    return " ".join(parts), turns


def _filled(turn: str, values: Mapping[str, str]) -> str:
    return re.sub(r"<(s\d+)>", lambda match: values[match[1]], turn)


class NearestNeighbour:
    """Takes the solution of the known task with the most similar words, with the request's numbers and names."""

    def __init__(self, known: Mapping[str, Sequence[Drawn]]) -> None:
        self._known = {group: [(_bag(task.text), task) for task in tasks] for group, tasks in known.items()}

    def __call__(self, group: str, text: str) -> Turns:
        bag = _bag(text)
        _, nearest = max(self._known[group], key=lambda known: _cosine(known[0], bag))
        swaps: dict[str, str] = {}
        for kind in (r"\d+", r"(?<=\s)[A-Z][a-z]+"):
            swaps |= dict(zip(re.findall(kind, nearest.text), re.findall(kind, text), strict=False))
        return [
            re.sub(r"(?<!R)\b[A-Za-z0-9]+\b", lambda match: swaps.get(match[0], match[0]), turn.actions)
            for turn in nearest.gold
        ]


def _bag(text: str) -> Counter[str]:
    return Counter(word.lower() for word in _TOKEN.findall(text) if not word.isdigit())


def _cosine(one: Counter[str], other: Counter[str]) -> float:
    shared = sum(count * other[word] for word, count in one.items())
    return shared / sqrt(sum(c * c for c in one.values()) * sum(c * c for c in other.values()))


_NUMBER = r"(\d+)"
_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_EVENTS: tuple[tuple[str, str], ...] = (
    (rf"\bhas {_NUMBER} more \w+ than", "{0} + {0} + {n}"),
    (rf"\bhas {_NUMBER} \w+\.", "{n}"),
    (rf"\b{_NUMBER} \w+ belong to", "{n}"),
    (rf"\b{_NUMBER} boxes\b.*?{_NUMBER}", "{0} + {n} * {m}"),
    (rf"\b{_NUMBER} times", "{0} * {n}"),
    (rf"\bamong {_NUMBER} friends", "{0} / {n}"),
    (rf"\b{_NUMBER} friends\b", "{0} / {n}"),
    (rf"\bfor {_NUMBER} coins each", "{0} * {n}"),
    (rf"\bcoins each for {_NUMBER}", "{0} * {n}"),
    (rf"\b(?:gives|sells|lends|loses|hands|passes)\b.*?{_NUMBER}", "{0} - {n}"),
    (rf"\b{_NUMBER}\b.*\b(?:given|lost|gone|missing|broke|withered|shatter\w*)\b", "{0} - {n}"),
    (rf"\b(?:buys|finds|makes|gets|adds|collects)\b.*?{_NUMBER}", "{0} + {n}"),
    (rf"\b{_NUMBER} more\b", "{0} + {n}"),
    (rf"\banother {_NUMBER}\b", "{0} + {n}"),
    (rf"\b{_NUMBER} fewer\b", "{0} - {n}"),
    (rf"\b{_NUMBER} (?:of|in) (?:them|these)\b", "{0} - {n}"),
    (rf"\b{_NUMBER}\b.*\b(?:each|apiece|every)\b", "{0} * {n}"),
    (rf"\b{_NUMBER}\b", "{0} + {n}"),
)


def rules_of_problems(group: str, text: str) -> Turns:
    """Eighteen patterns for the sentences of word problems, the last of which takes whatever has a number."""
    if group != "maths":
        return []
    expression = ""
    text = re.sub(rf"\b({'|'.join(_WORDS)})\b", lambda match: str(_WORDS.index(match[0]) + 2), text)
    for sentence in re.split(r"(?<=[.?!])\s+", text):
        for pattern, operation in _EVENTS:
            if match := re.search(pattern, sentence):
                numbers = dict(zip("nm", match.groups(), strict=False))
                start = operation if expression or "{0}" not in operation else "{n}"
                expression = f"({start.format(expression, **numbers)})"
                break
    return [f"R1 = Calculator({expression})"] if expression else []

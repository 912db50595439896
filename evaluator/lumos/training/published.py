"""Solutions of published data sets, in the operator's files, as LUMOS's training data.

GSM8K's annotated rationales, SVAMP's and ASDiv's equations, and MuSiQue's decompositions become subgoals and actions by
rules. Sums are run; of questions, the answers of the parts are those of the file. Nothing is fetched or shipped.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from evaluator.core.planner import OfferedTool, offered_tools
from evaluator.core.tools.types import Catalogue
from evaluator.core.turns import ActionResult, PastTurn
from evaluator.lumos.maths.gold import gold_of_equation, run_turns
from evaluator.lumos.maths.suite import TOOLS as MATHS_TOOLS
from evaluator.lumos.maths.tasks import MathsFileError, WordProblem, read_gsm8k, read_svamp
from evaluator.lumos.maths.tools import ToolFailure
from evaluator.lumos.mini.conversion import Solved, written
from evaluator.lumos.retrieval.environment import ANSWER, KNOWLEDGE, PARAGRAPHS, retrieval_tools
from evaluator.lumos.tasks import GoldTurn
from evaluator.replies.turns.actions import read_actions
from evaluator.training.lessons import DataError

MOST_BYTES = 1024**3
_NUMBER = re.compile(r"-?[0-9][0-9,]{0,30}(?:\.[0-9]{1,30})?")
_EQUATION = re.compile(r"\s*([^=]{1,200})=")
_REFERENCE = re.compile(r"#(\d{1,2})\b")
_ENTITY = re.compile(r"<[!?/]?(?:DOCTYPE|ENTITY)", re.IGNORECASE)
_MATHS = tuple(offered_tools(MATHS_TOOLS))


class _UnusableError(ValueError):
    """A record without usable solution; the message says why, in a few words."""


def convert(*, source: str, file: Path, folder: Path) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """Write the conversations of a file.

    Args:
        source: a name in `SOURCES`.
        file: the data set's own file.
        folder: gets `FORM.jsonl` for each form.

    Returns:
        The number of conversations of each form, and of solutions left out by reason.

    Raises:
        DataError: the file cannot be read, or is not of this data set.
        OSError: the folder cannot be written.
    """
    left_out: Counter[str] = Counter()

    def usable() -> Iterator[Solved]:
        for number, read in enumerate(SOURCES[source](file)):
            try:
                yield read(number)
            except _UnusableError as error:
                left_out[str(error)] += 1

    return written(usable(), folder=folder), dict(left_out.most_common())


_Read = Callable[[int], Solved]
"""Makes a solution of the record with this number; raises `_UnusableError`."""


def _text(file: Path) -> str:
    try:
        if file.stat().st_size > MOST_BYTES:
            raise DataError(f"{file} has more than {MOST_BYTES // 1024**3} GiB, the most that is read")
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{file} cannot be read: {error}") from None


def _word_problems(read: Callable[[Path], tuple[WordProblem, ...]], file: Path) -> Iterator[_Read]:
    try:
        problems = read(file)
    except MathsFileError as error:
        raise DataError(str(error)) from None
    for problem in problems:
        why = str(problem.why_no_gold or "no solution")
        yield _solved_sum(group=read.__name__.removeprefix("read_"), text=problem.text, gold=problem.gold, why=why)


def _solved_sum(*, group: str, text: str, gold: tuple[GoldTurn, ...], why: str) -> _Read:
    def solved(number: int) -> Solved:
        if not gold:
            raise _UnusableError(why)
        values = run_turns(gold)
        if isinstance(values, ToolFailure):
            raise _UnusableError("an action fails")
        past = []
        for index, turn in enumerate(gold, start=1):
            results = [
                ActionResult(
                    action=f"{', '.join(action.outputs)} = {action.tool}({action.raw})",
                    outputs={name: values[name].text for name in action.outputs},
                )
                for action in read_actions(text=turn.actions).actions
            ]
            past.append(PastTurn(index=index, subgoals=[turn.subgoal], results=results, feedback=""))
        return Solved(group=group, number=number, text=text, tools=_MATHS, gold=gold, past=tuple(past))

    return solved


def _asdiv(file: Path) -> Iterator[_Read]:
    """ASDiv's XML: `<Problem><Body/><Question/><Formula>7+2=9</Formula><Answer>9 (apples)</Answer></Problem>`."""
    text = _text(file)
    if _ENTITY.search(text):
        raise DataError(f"{file}: declares entities or a document type, which ASDiv's file does not")
    try:
        root = ElementTree.fromstring(text)  # noqa: S314 - without entities, as checked
    except ElementTree.ParseError as error:
        raise DataError(f"{file} is no XML: {error}") from None
    problems = root.findall(".//Problem")
    if not problems:
        raise DataError(f"{file}: has no <Problem>, as ASDiv's file does")
    for problem in problems:
        parts = {name: (problem.findtext(name) or "").strip() for name in ("Body", "Question", "Formula", "Answer")}
        number, equation = _NUMBER.match(parts["Answer"]), _EQUATION.match(parts["Formula"])
        gold: tuple[GoldTurn, ...] = ()
        why = "the formula or the answer is no number"
        if number is not None and equation is not None:
            found = gold_of_equation(equation=equation[1].strip(), answer=Fraction(number[0].replace(",", "")))
            gold, why = (found, "") if isinstance(found, tuple) else ((), str(found))
        yield _solved_sum(group="asdiv", text=f"{parts['Body']} {parts['Question']}".strip(), gold=gold, why=why)


def _musique(file: Path) -> Iterator[_Read]:
    """MuSiQue's JSON lines, with `question_decomposition` and `paragraphs`."""
    for line, text in enumerate(_text(file).splitlines(), start=1):
        if not text.strip():
            continue
        try:
            record = json.loads(text)
            steps, paragraphs = record["question_decomposition"], record["paragraphs"]
            titles = {own["idx"]: (own["title"], own["paragraph_text"]) for own in paragraphs}
            parts = [(str(own["question"]), str(own["answer"]), own["paragraph_support_idx"]) for own in steps]
            question = str(record["question"])
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            what = '{"question", "paragraphs": [{"idx", ...}], "question_decomposition": [{"question", "answer", ...}]}'
            raise DataError(f"{file}: line {line} is not {what}: {error!r}") from None
        yield _solved_question(question=question, parts=parts, titles=titles)


def _solved_question(*, question: str, parts: list[tuple[str, str, Any]], titles: Mapping[Any, Any]) -> _Read:
    def solved(number: int) -> Solved:
        gold, past = [], []
        known: dict[str, tuple[str, str]] = {}
        for index, (asked, answer, support) in enumerate(parts, start=1):
            if support not in titles or not answer:
                raise _UnusableError("a part has no paragraph or answer")
            entity, _, relation = asked.partition(" >> ")
            asked = f"What is the {relation} of {entity}?" if relation else asked
            names = set(_REFERENCE.findall(asked))
            if not names <= known.keys():
                raise _UnusableError("a part refers to a later one")
            words, linked = asked, asked
            for name in names:
                said, reference = known[name]
                words, linked = words.replace(f"#{name}", said), linked.replace(f"#{name}", reference)
            title, paragraph = titles[support]
            # The article is that of an earlier answer, if it is about it.
            about = next((reference for said, reference in known.values() if said == title), title)
            first = 3 * index - 2
            actions = (
                (f"R{first} = {KNOWLEDGE}({about})", {f"R{first}": str(title)}),
                (f"R{first + 1} = {PARAGRAPHS}(R{first}, Query: {linked})", {f"R{first + 1}": str(paragraph)}),
                (f"R{first + 2} = {ANSWER}([R{first + 1}], Question: {linked})", {f"R{first + 2}": answer}),
            )
            known[str(index)] = (answer, f"R{first + 2}")
            gold.append(GoldTurn(f"Find out: {words}", "; ".join(action for action, _ in actions)))
            results = [ActionResult(action=action, outputs=outputs) for action, outputs in actions]
            past.append(PastTurn(index=index, subgoals=[gold[-1].subgoal], results=results, feedback=""))
        if not gold:
            raise _UnusableError("it has no parts")
        return Solved(
            group="musique", number=number, text=question, tools=_questions(), gold=tuple(gold), past=tuple(past)
        )

    return solved


def _questions() -> tuple[OfferedTool, ...]:
    tools = {tool.name: tool for tool in retrieval_tools(paragraphs=1)}
    return tuple(offered_tools(Catalogue(name="questions", tools=tools)))


SOURCES: Mapping[str, Callable[[Path], Iterator[_Read]]] = {
    "gsm8k": lambda file: _word_problems(read_gsm8k, file),
    "svamp": lambda file: _word_problems(read_svamp, file),
    "asdiv": _asdiv,
    "musique": _musique,
}
"""Readers of data sets by name."""

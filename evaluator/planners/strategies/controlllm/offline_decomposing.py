"""Task decomposition without a language model: a few rules over the request's words, files and the tools' types.

1. The request is cut into sentences, and at "then", "afterwards" and the like. What only names files leads into the
   next.
2. A sentence works on the files that it names; else on the new image if it speaks of one; else on the files of before.
3. What it wants is the result of the tool that is most like its words, among those that could be reached from what it
   works on. If none is, and for questions about anything else, that is the answer to a question.
4. Its domains are those of that tool and of the tools that make what it takes; the description names them, which the
   paper calls prior knowledge (Table 4). Several files of the type that the tool takes once give a subtask each.
5. Tools that ask or draw take the whole sentence as their text; others the longest run of words in it that no tool
   speaks of, which mostly is the name of the thing.

This understands far less than a language model does; what it scores is said in the documentation.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from evaluator.planners.protocol import PlannerRequest
from evaluator.planners.strategies.controlllm.search import reachable_tools
from evaluator.planners.strategies.controlllm.subtasks import Resource, TypedSubtask
from evaluator.planners.strategies.controlllm.words import Lexicon, content_words
from evaluator.tools.types import ResourceType, Tool

_CUTS = re.compile(r"(?<=[.?!;])\s+|\s*,?\s+(?:and\s+)?(?:then|afterwards|after that|finally|next),?\s+", re.IGNORECASE)
_NEW = re.compile(r"\b(?:new|resulting|generated|result)\b", re.IGNORECASE)
_SPEAKS_BACK = re.compile(
    r"\b(?:it|its|this|that|these|them|same|the (?:image|picture|photo|video|clip))\b", re.IGNORECASE
)
_QUESTION = re.compile(r"\?\s*$")
_POLITE = re.compile(r"\W*(?:please\s+)?(?:can|could|would|will)\s+you\b", re.IGNORECASE)
_WORDS = re.compile(r"[A-Za-z][A-Za-z'-]*")
_ASKED_OR_DRAWN = ("question-answering", "visual-question-answering", "image-generation", "video-generation",
                   "audio-generation")  # fmt: skip
_ARTICLES = frozenset({"a", "an", "the", "any", "some", "all", "every", "each"})
_MEDIA = frozenset({ResourceType.IMAGE, ResourceType.VIDEO, ResourceType.AUDIO})
_LIKE = 0.08
"""The least likeness of a tool that a sentence is taken to want."""
_INDIRECT = 0.8
"""What likeness is multiplied by for each type that another tool has to make."""


@dataclass(frozen=True, slots=True)
class _Sentence:
    text: str
    works_on: tuple[Resource, ...]


def decompose_offline(*, request: PlannerRequest, tools: Sequence[Tool], lexicon: Lexicon) -> tuple[TypedSubtask, ...]:
    """The subtasks of a request by the rules of this module."""
    files = {name: ResourceType(kind) for name, kind in request.task.resources.items()}
    subtasks: list[TypedSubtask] = []
    before: tuple[Resource, ...] = ()
    for text in _sentences(request.task.request):
        named = _named(text=text, files=files)
        works_on = named or _meant(text=text, before=before, made=subtasks)
        before = works_on or before
        if named and len(set(content_words(_without(text, files)))) < 2:
            continue
        sentence = _Sentence(text=text, works_on=works_on)
        for one in _subtasks(sentence=sentence, tools=tools, lexicon=lexicon, files=files, first=len(subtasks)):
            subtasks.append(one)
    return tuple(subtasks)


def _sentences(request: str) -> Iterator[str]:
    for part in _CUTS.split(request):
        if part and _WORDS.search(part):
            yield part.strip()


def _named(*, text: str, files: Mapping[str, ResourceType]) -> tuple[Resource, ...]:
    """The files that a text names, in the order in which it does."""
    there = [name for name in files if re.search(rf"(?<![\w/.-]){re.escape(name)}(?![\w-])", text)]
    return tuple(Resource(type=files[name], value=name) for name in sorted(there, key=text.index))


def _meant(*, text: str, before: tuple[Resource, ...], made: Sequence[TypedSubtask]) -> tuple[Resource, ...]:
    """What a text without files speaks of."""
    results = [result for subtask in made for result in subtask.returns if result.type in _MEDIA]
    if results and (_NEW.search(text) or (not before and _SPEAKS_BACK.search(text))):
        return (results[-1],)
    return before


def _subtasks(
    *,
    sentence: _Sentence,
    tools: Sequence[Tool],
    lexicon: Lexicon,
    files: Mapping[str, ResourceType],
    first: int,
) -> Iterator[TypedSubtask]:
    """The subtasks of one sentence: one, or one for each of several files."""
    said = _without(sentence.text, files)
    wanted = _wanted(text=said, works_on=sentence.works_on, tools=tools, lexicon=lexicon)
    if wanted is None:
        return
    for number, works_on in enumerate(_shares(wanted=wanted, works_on=sentence.works_on), start=first):
        chain = _chain(wanted=wanted, there={one.type for one in works_on}, tools=tools, text=said, lexicon=lexicon)
        text = _text(chain=chain, said=said, lexicon=lexicon)
        steps = _with_selection(chain=chain, tools=tools) if text else chain
        yield TypedSubtask(
            id=number,
            description=f"{said} Tools that may help: {', '.join(f'`{tool.name}`' for tool in steps)}.",
            domains=tuple(dict.fromkeys(tool.domain for tool in chain)),
            args=(*works_on, *([Resource(type=ResourceType.TEXT, value=text)] if text else [])),
            returns=(Resource(type=wanted.output_types[0], value=f"<GENERATED>-{number}"),),
        )


def _without(text: str, files: Mapping[str, ResourceType]) -> str:
    """A text that says "the image" where it named a file."""
    for name in sorted(files, key=len, reverse=True):
        text = text.replace(name, f"the {files[name]}")
    return text


def _wanted(*, text: str, works_on: Sequence[Resource], tools: Sequence[Tool], lexicon: Lexicon) -> Tool | None:
    """The tool whose result a sentence wants; None if no tool could be reached."""
    kinds = {one.type for one in works_on}
    answering = next((tool for tool in tools if _answers(tool=tool, kinds=kinds)), None)
    if answering is not None and _QUESTION.search(text) and not _POLITE.match(text):
        return answering
    reachable = reachable_tools(tools=tools, args=[*kinds, ResourceType.TEXT])
    on_topic = (
        [tool for tool in reachable if kinds & _sources(tool=tool, tools=reachable)]
        if kinds
        else [tool for tool in reachable if set(tool.input_types) == {ResourceType.TEXT}]
    )
    likeness = {tool.name: _likeness(text=text, tool=tool, kinds=kinds, lexicon=lexicon) for tool in on_topic}
    best = max(on_topic, key=lambda tool: likeness[tool.name], default=None)
    return best if best is not None and likeness[best.name] >= _LIKE else answering or best


def _answers(*, tool: Tool, kinds: set[ResourceType]) -> bool:
    """Whether a tool answers questions about just these types."""
    return (
        tool.domain.endswith("question-answering")
        and set(tool.input_types) == {*kinds, ResourceType.TEXT}
        and tool.output_types == (ResourceType.TEXT,)
    )


def _likeness(*, text: str, tool: Tool, kinds: set[ResourceType], lexicon: Lexicon) -> float:
    """The similarity of the words, less where other tools would have to make what a tool takes.

    It is more where the words name the type of what the tool makes, as "mask" does, and that is not yet there.
    """
    missing = set(tool.input_types) - kinds - {ResourceType.TEXT}
    said = set(content_words(text))
    named = any(set(content_words(kind)) <= said for kind in set(tool.output_types) - kinds)
    return lexicon.similarity(text=text, tool=tool) * _INDIRECT ** (len(missing) - named)


def _sources(*, tool: Tool, tools: Sequence[Tool]) -> frozenset[ResourceType]:
    """The types that a tool takes, and those that what it takes could be made of."""
    kinds = set(tool.input_types)
    while True:
        more = {
            kind
            for maker in tools
            if kinds & set(maker.output_types) - {ResourceType.TEXT}
            for kind in maker.input_types
        }
        if more <= kinds:
            return frozenset(kinds)
        kinds |= more


def _shares(*, wanted: Tool, works_on: tuple[Resource, ...]) -> list[tuple[Resource, ...]]:
    """One share of the resources for each file of the type that there are several of and the tool takes once."""
    several = [one for one in works_on if sum(other.type is one.type for other in works_on) > 1]
    if not several or wanted.input_types.count(several[0].type) > 1:
        return [works_on]
    rest = tuple(one for one in works_on if one.type is not several[0].type)
    return [(one, *rest) for one in several if one.type is several[0].type]


def _chain(*, wanted: Tool, there: set[ResourceType], tools: Sequence[Tool], text: str, lexicon: Lexicon) -> list[Tool]:
    """A tool behind the tools that make what it takes, those most like the words."""
    chain = [wanted]
    missing = [kind for kind in wanted.input_types if kind not in there and kind is not ResourceType.TEXT]
    callable_with = {*there, ResourceType.TEXT}
    for kind in missing:
        makers = [
            tool
            for tool in tools
            if kind in tool.output_types and there & set(tool.input_types) and set(tool.input_types) <= callable_with
        ]
        if makers:
            chain.insert(0, min(makers, key=lambda tool: _rank_of_maker(tool=tool, text=text, lexicon=lexicon)))
    return chain


def _rank_of_maker(*, tool: Tool, text: str, lexicon: Lexicon) -> tuple[bool, float]:
    """Makers that take no text come first, since a text selects among what they make; then the most alike."""
    return ResourceType.TEXT in tool.input_types, -lexicon.similarity(text=text, tool=tool)


def _with_selection(*, chain: Sequence[Tool], tools: Sequence[Tool]) -> list[Tool]:
    """The chain with a tool behind each maker of a list that keeps, by a text, some of it."""
    steps: list[Tool] = []
    for tool in chain:
        steps.append(tool)
        if ResourceType.TEXT in tool.input_types or not set(tool.output_types) <= _LISTS:
            continue
        kind = tool.output_types[0]
        steps += [one for one in tools if one.input_types == (kind, ResourceType.TEXT) and one.output_types == (kind,)]
    return steps


def _text(*, chain: Sequence[Tool], said: str, lexicon: Lexicon) -> str:
    """What a subtask gives its tools as a text; empty for nothing."""
    takes_text = ResourceType.TEXT in chain[-1].input_types
    if takes_text and (chain[-1].domain in _ASKED_OR_DRAWN or set(chain[-1].input_types) == {ResourceType.TEXT}):
        return said
    listing = any(kind in _LISTS for tool in chain for kind in tool.output_types)
    if not listing and not takes_text:
        return ""
    return _thing(said=said, lexicon=lexicon)


_LISTS = frozenset({ResourceType.CATEGORY, ResourceType.BBOX, ResourceType.MASK})
"""What holds several things, of which one may be meant."""


def _thing(*, said: str, lexicon: Lexicon) -> str:
    """The longest run of words that no tool speaks of, rather one behind an article; empty if there is none."""
    runs: list[tuple[bool, list[str]]] = []
    last = ""
    for word in _WORDS.findall(said):
        if not content_words(word) or lexicon.weights_of(word):
            runs.append((False, []))
        elif runs and runs[-1][1]:
            runs[-1][1].append(word)
        else:
            runs.append((last.lower() in _ARTICLES, [word]))
        last = word
    best = max(reversed(runs), key=lambda run: (run[0], len(run[1])), default=(False, []))
    return " ".join(best[1])

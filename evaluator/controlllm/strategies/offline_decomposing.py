"""Task decomposition without a language model: a few rules over the request's words, files and the tools' types.

1. The request is cut into sentences, and at "then", "afterwards" and the like, but never within a quotation. What only
   names files or quotes leads into the next.
2. A sentence works on the files that it names; else on the new image if it speaks of one; else on the files or the
   quotation of before.
3. What it wants is the result of the tool that is most like its words, among those that could be reached from what it
   works on. If none is, and for questions about anything else, that is the answer to a question.
4. Its domains are those of that tool and of the tools that make what it takes; the description names them, which the
   paper calls prior knowledge (Table 4). Several files of the type that the tool takes once give a subtask each.
5. Tools that ask or draw take the whole sentence as their text, or the passage that it quotes; others the longest run
   of words in it that no tool speaks of, which mostly is the name of the thing.
6. Titles, tags, names, summaries, moods and places of texts, and the reading of writing, are recognised by the words of
   `text_tools`. The text is what is quoted, else a caption or the writing of a picture. What is quoted says nothing
   about the tool.

This understands far less than a language model does; what it scores is said in the documentation.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from evaluator.controlllm.strategies import text_tools
from evaluator.controlllm.strategies.quotations import Quotation, Quoted, read_quotations, without_marks
from evaluator.controlllm.strategies.search import reachable_tools
from evaluator.controlllm.strategies.subtasks import Resource, TypedSubtask
from evaluator.controlllm.strategies.words import Lexicon, content_words
from evaluator.core.planner import PlannerRequest
from evaluator.core.tools.types import ResourceType, Tool

_CUTS = re.compile(r"(?<=[.?!;])\s+|\s*,?\s+(?:and\s+)?(?:then|afterwards|after that|finally|next),?\s+", re.IGNORECASE)
_NEW = re.compile(r"\b(?:new|resulting|generated|result)\b", re.IGNORECASE)
_SPEAKS_BACK = re.compile(
    r"\b(?:it|its|this|that|these|them|same|the (?:image|picture|photo|video|clip))\b", re.IGNORECASE
)
_QUESTION = re.compile(r"\?\s*$")
_ASKS = re.compile(r"\b(?:ask|answer|question|reply|respond)\b", re.IGNORECASE)
_QUOTE = '"..."'
"""What stands for a quotation where its words must not count."""
_POLITE = re.compile(r"\W*(?:please\s+)?(?:can|could|would|will)\s+you\b", re.IGNORECASE)
_WORDS = re.compile(r"[A-Za-z][A-Za-z'-]*")
_ASKED_OR_DRAWN = ("question-answering", "visual-question-answering", "image-generation", "video-generation",
                   "audio-generation")  # fmt: skip
_ARTICLES = frozenset({"a", "an", "the", "any", "some", "all", "every", "each"})
_MEDIA = frozenset({ResourceType.IMAGE, ResourceType.VIDEO, ResourceType.AUDIO})
_HELP = " Tools that may help: "
_LIKE = 0.08
"""The least likeness of a tool that a sentence is taken to want."""
_LOOKING = frozenset(content_words("look image video text audio"))
_INDIRECT = 0.8
"""What likeness is multiplied by for each type that another tool has to make."""


@dataclass(frozen=True, slots=True)
class _Sentence:
    said: str
    """With "the image" for a file, and without what it quotes."""
    whole: str
    """With "the image" for a file, and with its quotations."""
    works_on: tuple[Resource, ...]
    names_files: bool
    quotations: tuple[Quotation, ...]

    @property
    def kinds(self) -> set[ResourceType]:
        return {one.type for one in self.works_on}


@dataclass(frozen=True, slots=True)
class _Step:
    """What becomes a subtask: the tools that may help, the last of which makes the result, and what they work on."""

    chain: tuple[Tool, ...]
    named: tuple[Tool, ...]
    """Those that the description names: the chain, perhaps with selections."""
    args: tuple[Resource, ...]


def decompose_offline(*, request: PlannerRequest, tools: Sequence[Tool], lexicon: Lexicon) -> tuple[TypedSubtask, ...]:
    """The subtasks of a request by the rules of this module."""
    files = {name: ResourceType(kind) for name, kind in request.task.resources.items()}
    quoted = read_quotations(request.task.request, files=files)
    subtasks: list[TypedSubtask] = []
    before: tuple[Resource, ...] = ()
    for text in _sentences(quoted.text, files=files):
        sentence = _sentence(text=text, quoted=quoted, files=files, before=before, made=subtasks)
        before = _texts(sentence) if sentence.quotations and not sentence.names_files else sentence.works_on or before
        least = 2 if sentence.names_files else 1 if sentence.quotations else 0
        if len(set(content_words(sentence.said))) < least and not text_tools.wants_anything(sentence.said):
            continue
        for step in _steps(sentence=sentence, tools=tools, lexicon=lexicon):
            subtask = _subtask(step=step, said=sentence.said, number=len(subtasks))
            if not any(_is_same(subtask, other) for other in subtasks):
                subtasks.append(subtask)
    return tuple(subtasks)


def likeness_to_tools(subtask: TypedSubtask, *, tools: Sequence[Tool], lexicon: Lexicon) -> float | None:
    """How much a subtask's words are like the tools that it names: the largest cosine of weighted words, in [0, 1].

    Args:
        subtask: as `decompose_offline` made it.
        tools: those that are offered.
        lexicon: their words.

    Returns:
        1 for questions and for what is recognised by words of its own (`text_tools`); None for sentences that want
        nothing, such as "Look at the image.", and for subtasks of other decompositions.
    """
    said, found, names = subtask.description.partition(_HELP)
    if not found:
        return None
    if _asks(said) or _ASKS.search(said) or text_tools.wants_anything(said):
        return 1.0
    if not set(content_words(said)) - _LOOKING:
        return None
    return max((lexicon.similarity(text=said, tool=tool) for tool in tools if f"`{tool.name}`" in names), default=0.0)


def _asks(said: str) -> bool:
    return bool(_QUESTION.search(said.removesuffix(_QUOTE)) and not _POLITE.match(said))


def _sentences(request: str, *, files: Collection[str]) -> Iterator[str]:
    """The parts of a request. A quotation alone belongs to the sentence before it, if that says nothing of files."""
    waiting = ""
    for part in (part.strip() for part in _CUTS.split(request)):
        if not _WORDS.search(part):
            continue
        only_quotes = not _WORDS.search(without_marks(part))
        if only_quotes and waiting and without_marks(waiting) == waiting and not _named(text=waiting, files=files):
            waiting = f"{waiting} {part}"
            continue
        if waiting:
            yield waiting
        waiting = part
    if waiting:
        yield waiting


def _named(*, text: str, files: Collection[str]) -> tuple[str, ...]:
    """The files that a text names, in the order in which it does."""
    there = [name for name in files if re.search(rf"(?<![\w/.-]){re.escape(name)}(?![\w-])", text)]
    return tuple(sorted(there, key=text.index))


def _sentence(
    *,
    text: str,
    quoted: Quoted,
    files: Mapping[str, ResourceType],
    before: tuple[Resource, ...],
    made: Sequence[TypedSubtask],
) -> _Sentence:
    named = tuple(Resource(type=files[name], value=name) for name in _named(text=text, files=files))
    spoken = _without(text, files)
    return _Sentence(
        said=without_marks(spoken, instead=_QUOTE),
        whole=quoted.whole(spoken),
        works_on=named or _meant(text=text, before=before, made=made),
        names_files=bool(named),
        quotations=quoted.within(text),
    )


def _meant(*, text: str, before: tuple[Resource, ...], made: Sequence[TypedSubtask]) -> tuple[Resource, ...]:
    """What a text without files speaks of."""
    results = [result for subtask in made for result in subtask.returns if result.type in _MEDIA]
    speaks_back = _SPEAKS_BACK.search(text)
    if results and (_NEW.search(text) or (not before and speaks_back)):
        return (results[-1],)
    is_text = any(one.type is ResourceType.TEXT for one in before)
    return () if is_text and not speaks_back and not text_tools.annotations(text) else before


def _texts(sentence: _Sentence) -> tuple[Resource, ...]:
    """The texts that a sentence works on: passages that it quotes, else its other quotations, else those of before."""
    passages = [one for one in sentence.quotations if one.is_passage]
    quoted = tuple(Resource(type=ResourceType.TEXT, value=one.text) for one in passages or sentence.quotations)
    return quoted or tuple(one for one in sentence.works_on if one.type is ResourceType.TEXT)


def _steps(*, sentence: _Sentence, tools: Sequence[Tool], lexicon: Lexicon) -> Iterator[_Step]:
    """What a sentence wants: mostly one step, or one for each of several files, texts or annotations."""
    steps = list(_steps_of_texts(sentence=sentence, tools={tool.name: tool for tool in tools}))
    yield from steps or _steps_by_likeness(sentence=sentence, tools=tools, lexicon=lexicon)


def _steps_of_texts(*, sentence: _Sentence, tools: Mapping[str, Tool]) -> Iterator[_Step]:
    """Annotations of texts, and reading."""
    texts = () if sentence.names_files else _texts(sentence)
    annotations = text_tools.annotations(sentence.said)
    for name in annotations:
        maker = text_tools.source(said=sentence.said, annotation=name, kinds=sentence.kinds)
        if texts:
            yield from _chained(names=(name,), works_on=texts, tools=tools)
        elif maker is not None and not sentence.quotations:
            yield from _chained(names=(maker, name), works_on=sentence.works_on, tools=tools)
    may_read = ResourceType.IMAGE in sentence.kinds and not annotations and not sentence.quotations
    if may_read and text_tools.wants_reading(sentence.said):
        yield from _chained(names=(text_tools.READER,), works_on=sentence.works_on, tools=tools)


def _chained(*, names: Sequence[str], works_on: Sequence[Resource], tools: Mapping[str, Tool]) -> Iterator[_Step]:
    """A chain of tools, for each thing that its first one takes; nothing where one of them is not in the catalogue."""
    chain = tuple(tools[name] for name in names if name in tools)
    if len(chain) == len(names):
        for one in works_on:
            if (one.type,) == chain[0].input_types:
                yield _Step(chain=chain, named=chain, args=(one,))


def _steps_by_likeness(*, sentence: _Sentence, tools: Sequence[Tool], lexicon: Lexicon) -> Iterator[_Step]:
    """One step, or one for each of several files, towards the tool that is most like the words."""
    media = tuple(one for one in sentence.works_on if one.type is not ResourceType.TEXT)
    wanted = _wanted(sentence=sentence, works_on=media, tools=tools, lexicon=lexicon)
    if wanted is None:
        return
    for works_on in _shares(wanted=wanted, works_on=media):
        there = {one.type for one in works_on}
        chain = _chain(wanted=wanted, there=there, tools=tools, text=sentence.said, lexicon=lexicon)
        text = _text(chain=chain, sentence=sentence, lexicon=lexicon)
        steps = _with_selection(chain=chain, tools=tools) if text else chain
        given = (Resource(type=ResourceType.TEXT, value=text),) if text else ()
        yield _Step(chain=tuple(chain), named=tuple(steps), args=(*works_on, *given))


def _subtask(*, step: _Step, said: str, number: int) -> TypedSubtask:
    return TypedSubtask(
        id=number,
        description=f"{said}{_HELP}{', '.join(f'`{tool.name}`' for tool in step.named)}.",
        domains=tuple(dict.fromkeys(tool.domain for tool in step.chain)),
        args=step.args,
        returns=(Resource(type=step.chain[-1].output_types[0], value=f"<GENERATED>-{number}"),),
    )


def _is_same(one: TypedSubtask, other: TypedSubtask) -> bool:
    """Whether two subtasks read the same writing: "What is written in a.png? Give me the words." wants it once."""
    reads = all(f"`{text_tools.READER}`." in subtask.description for subtask in (one, other))
    return reads and one.args == other.args and one.return_types == other.return_types


def _without(text: str, files: Mapping[str, ResourceType]) -> str:
    """A text that says "the image" where it named a file."""
    for name in sorted(files, key=len, reverse=True):
        text = text.replace(name, f"the {files[name]}")
    return text


def _wanted(
    *, sentence: _Sentence, works_on: Sequence[Resource], tools: Sequence[Tool], lexicon: Lexicon
) -> Tool | None:
    """The tool whose result a sentence wants; None if no tool could be reached."""
    text = sentence.said
    kinds = {one.type for one in works_on}
    answering = next((tool for tool in tools if _answers(tool=tool, kinds=kinds)), None)
    if answering is not None and _is_question(sentence):
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


def _is_question(sentence: _Sentence) -> bool:
    return _quotes_its_question(sentence) or _asks(sentence.said)


def _quotes_its_question(sentence: _Sentence) -> bool:
    """Whether a sentence hands over a question, as in: Answer this: "How many doors are there?"."""
    return bool(_ASKS.search(sentence.said)) and any(one.text.endswith("?") for one in sentence.quotations)


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


def _text(*, chain: Sequence[Tool], sentence: _Sentence, lexicon: Lexicon) -> str:
    """What a subtask gives its tools as a text; empty for nothing."""
    takes = chain[-1].input_types
    takes_text = ResourceType.TEXT in takes
    passages = [text.value for text in _texts(sentence) if not _is_mention(text.value, sentence)]
    if takes_text and (chain[-1].domain in _ASKED_OR_DRAWN or set(takes) == {ResourceType.TEXT}):
        # Of a question about a passage the words outside it say what is asked.
        is_alone = not chain[-1].domain.endswith("question-answering") or _quotes_its_question(sentence)
        return passages[0] if passages and is_alone else sentence.whole
    if not takes_text and not any(kind in _LISTS for tool in chain for kind in tool.output_types):
        return ""
    if sentence.quotations:
        return passages[0] if takes_text and passages else sentence.quotations[0].text
    return _thing(said=sentence.said, lexicon=lexicon)


def _is_mention(text: str, sentence: _Sentence) -> bool:
    return any(one.text == text and not one.is_passage for one in sentence.quotations)


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

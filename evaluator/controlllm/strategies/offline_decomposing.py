"""Task decomposition without a language model: rules over the request's words, files and the tools' types.

1. The request is split into sentences, and at "then", "afterwards" and similar words, but never within a quotation. A
   part that only names files or quotes introduces the next sentence.
2. The resources of a sentence are the files that it names; else the new image if it mentions one; else those of the
   previous sentence.
3. Its result is that of the tool most similar to its words, among those that are reachable from its resources. If no
   tool is similar, and for other questions, it is the answer to a question.
4. Its domains are those of that tool and of the tools that make its inputs; the description names these tools, which
   the paper calls prior knowledge (Table 4). If there are several files of a type that the tool takes once, each has
   its own subtask.
5. Tools that answer or draw take the whole sentence as their text, or the passage that it quotes; others the longest
   run of words that no tool has, which usually is the name of the object.
6. Titles, tags, names, summaries, moods and places of texts, and the reading of writing, are recognised by the words of
   `text_tools`. The text is a quotation, else the caption or the writing of a picture. Quoted words do not influence
   the choice of the tool.

These rules understand far less than a language model; the documentation has their scores.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from evaluator.controlllm.strategies import text_tools
from evaluator.controlllm.strategies.demands import Demand, demand_of, draws_it, is_remark, parts_of
from evaluator.controlllm.strategies.quotations import Quotation, Quoted, read_quotations, without_marks
from evaluator.controlllm.strategies.search import reachable_tools
from evaluator.controlllm.strategies.subtasks import Resource, TypedSubtask
from evaluator.controlllm.strategies.words import Lexicon, content_words
from evaluator.core.planner import PlannerRequest
from evaluator.core.tools.types import ResourceType, Tool

# Runs of spaces are read from their start only, in linear time.
_CUTS = re.compile(
    r"(?<=[.?!;])\s+|(?<!\s)(?:\s*,)?\s+(?:and\s+)?(?:then|afterwards|after that|finally|next),?\s+", re.IGNORECASE
)
_PART_CUTS = re.compile(
    r"(?<=[.?!;])\s+|(?<!\s)(?:\s*,)?\s+(?:and\s+)?(?:then|afterwards|after that|finally),?\s+"
    r"|,\s+(?:and\s+)?next,?\s+",
    re.IGNORECASE,
)
_NEW = re.compile(r"\b(?:new|resulting|generated|result)\b", re.IGNORECASE)
_SPEAKS_BACK = re.compile(
    r"\b(?:it|its|this|that|these|them|same|the (?:image|picture|photo|video|clip))\b", re.IGNORECASE
)
_PRESENTS = re.compile(r"\W*(?:my|the|this) (?:image|picture|photo|video|clip|file) is\b", re.IGNORECASE)
_SPEAKS_OF_TEXT = re.compile(r"\b(?:this|these|the following)\b", re.IGNORECASE)
_QUESTION = re.compile(r"\?\s*$")
_ASKS = re.compile(r"\b(?:ask|answer|question|reply|respond)\b", re.IGNORECASE)
_QUOTE = '"..."'
"""Replaces a quotation where its words must not count."""
_POLITE = re.compile(r"\W*(?:please\s+)?(?:can|could|would|will)\s+you\b", re.IGNORECASE)
_WORDS = re.compile(r"[A-Za-z][A-Za-z'-]*")
_ASKED_OR_DRAWN = ("question-answering", "visual-question-answering", "image-generation", "video-generation",
                   "audio-generation")  # fmt: skip
_ARTICLES = frozenset({"a", "an", "the", "any", "some", "all", "every", "each"})
_MEDIA = frozenset({ResourceType.IMAGE, ResourceType.VIDEO, ResourceType.AUDIO})
_OPEN = re.compile(r"\b(?:what|which|name|recogni[sz]e|identify|classify|categor\w+)\b", re.IGNORECASE)
_CLOSED = re.compile(
    r"\b(?:whether|if|check|contains?)\b|^\W*(?:is|are|does|do|did|was|were|has|have)\b", re.IGNORECASE
)
_HELP = " Tools that may help: "
_LIKE = 0.08
"""The lowest likeness of a tool that a sentence may ask for."""
_FILE = re.compile(r"[\w-]+\.(?:png|jpe?g|gif|webp|mp4|wav|mp3|txt)\b", re.IGNORECASE)
_INDIRECT = 0.8
"""Factor on the likeness for each type that another tool must make."""


@dataclass(frozen=True, slots=True)
class _Sentence:
    said: str
    """With "the image" for a file, and without quotations."""
    whole: str
    """With "the image" for a file, and with quotations."""
    resources: tuple[Resource, ...]
    names_files: bool
    quotations: tuple[Quotation, ...]
    antecedent: str = ""
    """The name of an object in the clauses before, to which "it" may refer."""

    is_open: bool = False
    """Whether it asks which one of a classifier's names fits, not whether a certain one does."""

    @property
    def kinds(self) -> set[ResourceType]:
        return {resource.type for resource in self.resources}

    @property
    def quotes_question(self) -> bool:
        """Whether it poses a quoted question, as in: Answer this: "How many doors are there?"."""
        return bool(_ASKS.search(self.said)) and any(quotation.text.endswith("?") for quotation in self.quotations)

    def texts(self) -> tuple[Resource, ...]:
        """The quoted passages, else other quotations, else the texts of the previous sentence."""
        passages = [quotation for quotation in self.quotations if quotation.is_passage]
        quoted = tuple(Resource(type=ResourceType.TEXT, value=own.text) for own in passages or self.quotations)
        return quoted or tuple(resource for resource in self.resources if resource.type is ResourceType.TEXT)


@dataclass(frozen=True, slots=True)
class _Step:
    """A draft of a subtask."""

    chain: tuple[Tool, ...]
    """Tools for it, the last of which makes the result."""
    named: tuple[Tool, ...]
    """Tools that the description names: the chain, possibly with selections."""
    args: tuple[Resource, ...]


def decompose_offline(
    *, request: PlannerRequest, tools: Sequence[Tool], lexicon: Lexicon, by_demand: bool = False
) -> tuple[TypedSubtask, ...]:
    """The subtasks of a request by the rules of this module.

    Args:
        request: the request.
        tools: the offered tools.
        lexicon: their lexicon.
        by_demand: whether only tools that do what a part demands (`demands`) may make its result. A part that no tool
            does is a subtask that says what it lacks, and remarks are none. Otherwise likeness finds a tool for any
            sentence.
    """
    files = {name: ResourceType(kind) for name, kind in request.task.resources.items()}
    quoted = read_quotations(request.task.request, files=files)
    subtasks = _subtasks(quoted, files=files, tools=tools, lexicon=lexicon, by_demand=by_demand)
    if by_demand and not subtasks and (files or quoted.quotations):
        # Nobody names a file for nothing.
        subtasks = _subtasks(quoted, files=files, tools=tools, lexicon=lexicon, by_demand=True, is_implied=True)
    return subtasks


def _subtasks(
    quoted: Quoted,
    *,
    files: Mapping[str, ResourceType],
    tools: Sequence[Tool],
    lexicon: Lexicon,
    by_demand: bool,
    is_implied: bool = False,
) -> tuple[TypedSubtask, ...]:
    """See `decompose_offline`; `is_implied` as of `demand_of`."""
    subtasks: list[TypedSubtask] = []
    previous: tuple[Resource, ...] = ()
    antecedent = ""
    parts = list(_parts(quoted.text, files=files, by_demand=by_demand))
    for place, text in enumerate(parts):
        sentence = _sentence(text=text, quoted=quoted, files=files, previous=previous, subtasks=subtasks)
        demand: Demand | None = None
        if by_demand:
            sentence = replace(sentence, antecedent=antecedent)
            antecedent = _object_name(said=sentence.said, lexicon=lexicon) or antecedent
            demand = demand_of(
                _FILE.sub("the image", sentence.said),
                kinds=sentence.kinds,
                tools=tools,
                quotes=bool(sentence.texts()),
                is_implied=is_implied,
            )
            text_only = all(set(tool.input_types) == {ResourceType.TEXT} for tool in tools if tool.name in demand.tools)
            if demand.tools and text_only and not sentence.names_files and not sentence.texts():
                sentence = replace(sentence, resources=())
            if demand.lacks and place + 1 < len(parts) and _introduces(sentence, following=parts[place + 1]):
                demand = Demand()
            missing = [name for name in _FILE.findall(text) if name not in files]
            is_stated = is_remark(_without_names(text, files=files)) and not _PRESENTS.match(text)
            if missing and not is_stated:
                demand = Demand(lacks=f"{missing[0]} is not among the given files")
        is_quotation = sentence.quotations and not sentence.names_files
        previous = sentence.texts() if is_quotation else sentence.resources or previous
        least = 2 if sentence.names_files else 1 if sentence.quotations else 0
        if demand is None:
            if len(set(content_words(sentence.said))) < least and not text_tools.wants_anything(sentence.said):
                continue
        elif demand.is_empty:
            continue
        steps = list(_steps_of_texts(sentence=sentence, tools={tool.name: tool for tool in tools}))
        if demand is not None:
            steps = [step for step in steps if step.chain[-1].name in demand.tools]
        if demand is not None and _is_open(sentence.said):
            sentence = replace(sentence, is_open=True)
        admitted = tuple(tools) if demand is None else tuple(tool for tool in tools if tool.name in demand.tools)
        steps = steps or list(_steps_by_likeness(sentence=sentence, tools=tools, lexicon=lexicon, admitted=admitted))
        if demand is not None and not steps:
            lacks = demand.lacks or "no tool makes its result of what is given"
            subtasks.append(
                _lacking(said=sentence.whole, number=len(subtasks), resources=sentence.resources, lacks=lacks)
            )
        for step in steps:
            names = ", ".join(f"`{tool.name}`" for tool in step.named)
            subtask = TypedSubtask(
                id=len(subtasks),
                description=f"{sentence.said}{_HELP}{names}.",
                domains=tuple(dict.fromkeys(tool.domain for tool in step.chain)),
                args=step.args,
                returns=(Resource(type=step.chain[-1].output_types[0], value=f"<GENERATED>-{len(subtasks)}"),),
                demanded=() if demand is None else tuple(tool.name for tool in step.named),
            )
            is_repeated = by_demand and any(
                (other.demanded, other.args) == (subtask.demanded, subtask.args) for other in subtasks
            )
            if not is_repeated and not any(_is_repeated_reading(subtask, other) for other in subtasks):
                subtasks.append(subtask)
    return tuple(subtasks)


def _parts(request: str, *, files: Collection[str], by_demand: bool) -> Iterator[str]:
    """The sentences of a request; by demand, its clauses, each with the files that stand alone beside it."""
    if not by_demand:
        yield from _sentences(request, files=files, cuts=_CUTS)
        return
    sentences: list[str] = []
    alone = ""
    for sentence in _sentences(request, files=files, cuts=_PART_CUTS):
        names = _file_names(sentence, files=files)
        if names and not _WORDS.search(_FILE.sub("", sentence)):
            if sentences and not _file_names(sentences[-1], files=files):
                sentences[-1] = _beside(sentences[-1], names=sentence)
            else:
                alone = sentence
            continue
        if alone and not names:
            sentence = _beside(sentence, names=alone)
        alone = ""
        if sentences and not names and draws_it(sentence) and not _file_names(sentences[-1], files=files):
            sentence = f"Draw this: {sentences.pop()}"
        sentences.append(sentence)
    for sentence in sentences:
        yield from parts_of(sentence, is_statement=is_remark(_without_names(sentence, files=files)))


def _beside(sentence: str, *, names: str) -> str:
    """A sentence about files that stand beside it: "What is this? a.png" is "What is this in a.png?"."""
    mark = sentence[-1] if sentence[-1] in ".?!" else ""
    return f"{sentence.rstrip('.?!')} in {names.strip(' .,:;!?')}{mark}"


def _introduces(sentence: _Sentence, *, following: str) -> bool:
    """Whether a question is about a text that only the next part quotes: "Is it kind? Tell me its mood: ..."."""
    is_about_text = _SPEAKS_OF_TEXT.search(sentence.said) and not sentence.quotations and not sentence.resources
    return bool(is_about_text) and without_marks(following) != following


def _without_names(text: str, *, files: Collection[str]) -> str:
    for name in sorted(files, key=len, reverse=True):
        text = text.replace(name, "the image")
    return _FILE.sub("the image", text)


def _lacking(*, said: str, number: int, resources: Sequence[Resource], lacks: str) -> TypedSubtask:
    """A subtask that no tool does. What refers to its result finds a picture that is never made."""
    return TypedSubtask(
        id=number, description=said, domains=(), args=tuple(resources), lacks=lacks,
        returns=(Resource(type=ResourceType.IMAGE, value=f"<GENERATED>-{number}"),),
    )  # fmt: skip


def _asks(said: str) -> bool:
    return bool(_QUESTION.search(said.removesuffix(_QUOTE)) and not _POLITE.match(said))


def _sentences(request: str, *, files: Collection[str], cuts: re.Pattern[str]) -> Iterator[str]:
    """The parts of a request. A single quotation belongs to the previous sentence, if that names no file."""
    pending = ""
    for part in (part.strip() for part in cuts.split(request)):
        if not _WORDS.search(part):
            continue
        only_quotes = not _WORDS.search(without_marks(part))
        if only_quotes and pending and without_marks(pending) == pending and not _file_names(pending, files=files):
            pending = f"{pending} {part}"
            continue
        if pending:
            yield pending
        pending = part
    if pending:
        yield pending


def _file_names(text: str, *, files: Collection[str]) -> list[str]:
    """The files that a text names, in its order."""
    names = (name for name in files if re.search(rf"(?<![\w/.-]){re.escape(name)}(?![\w-])", text))
    return sorted(names, key=text.index)


def _sentence(
    *,
    text: str,
    quoted: Quoted,
    files: Mapping[str, ResourceType],
    previous: tuple[Resource, ...],
    subtasks: Sequence[TypedSubtask],
) -> _Sentence:
    resources = tuple(Resource(type=files[name], value=name) for name in _file_names(text, files=files))
    said = text
    for name in sorted(files, key=len, reverse=True):
        said = said.replace(name, f"the {files[name]}")
    return _Sentence(
        said=without_marks(said, placeholder=_QUOTE),
        whole=quoted.whole(said),
        resources=resources or _implied_resources(text=text, previous=previous, subtasks=subtasks),
        names_files=bool(resources),
        quotations=quoted.within(text),
    )


def _implied_resources(
    *, text: str, previous: tuple[Resource, ...], subtasks: Sequence[TypedSubtask]
) -> tuple[Resource, ...]:
    """The resources of a text without file names."""
    results = [result for subtask in subtasks for result in subtask.returns if result.type in _MEDIA]
    refers_back = _SPEAKS_BACK.search(text)
    if results and (_NEW.search(text) or (not previous and refers_back)):
        return (results[-1],)
    is_text = any(resource.type is ResourceType.TEXT for resource in previous)
    return () if is_text and not refers_back and not text_tools.annotations(text) else previous


def _steps_of_texts(*, sentence: _Sentence, tools: Mapping[str, Tool]) -> Iterator[_Step]:
    """Annotations of texts, and reading."""
    texts = () if sentence.names_files else sentence.texts()
    annotations = text_tools.annotations(sentence.said)
    for name in annotations:
        maker = text_tools.source(said=sentence.said, annotation=name, kinds=sentence.kinds)
        if texts:
            yield from _chained(names=(name,), resources=texts, tools=tools)
        elif maker is not None and not sentence.quotations:
            yield from _chained(names=(maker, name), resources=sentence.resources, tools=tools)
    may_read = ResourceType.IMAGE in sentence.kinds and not annotations and not sentence.quotations
    if may_read and text_tools.wants_reading(sentence.said):
        yield from _chained(names=(text_tools.READER,), resources=sentence.resources, tools=tools)


def _chained(*, names: Sequence[str], resources: Sequence[Resource], tools: Mapping[str, Tool]) -> Iterator[_Step]:
    """A chain of tools for each resource that its first tool takes; none if the catalogue lacks a tool."""
    chain = tuple(tools[name] for name in names if name in tools)
    if len(chain) == len(names):
        for resource in resources:
            if (resource.type,) == chain[0].input_types:
                yield _Step(chain=chain, named=chain, args=(resource,))


def _steps_by_likeness(
    *, sentence: _Sentence, tools: Sequence[Tool], lexicon: Lexicon, admitted: Sequence[Tool]
) -> Iterator[_Step]:
    """One step, or one for each of several files, towards the admitted tool that is most similar to the words."""
    media = tuple(resource for resource in sentence.resources if resource.type is not ResourceType.TEXT)
    target = _target(
        sentence=sentence, kinds={resource.type for resource in media}, tools=tools, lexicon=lexicon, admitted=admitted,
    )  # fmt: skip
    if target is None:
        return
    for resources in _shares(target=target, resources=media):
        kinds = {resource.type for resource in resources}
        chain = _chain(target=target, kinds=kinds, tools=tools, text=sentence.said, lexicon=lexicon)
        text = _text(chain=chain, sentence=sentence, lexicon=lexicon)
        if sentence.is_open and chain[-1].output_types == (ResourceType.CATEGORY,):
            text = ""
        steps = _with_selection(chain=chain, tools=tools) if text else chain
        texts = (Resource(type=ResourceType.TEXT, value=text),) if text else ()
        yield _Step(chain=tuple(chain), named=tuple(steps), args=(*resources, *texts))


def _is_open(said: str) -> bool:
    return bool(_OPEN.search(said)) and not _CLOSED.search(said)


def _is_repeated_reading(subtask: TypedSubtask, other: TypedSubtask) -> bool:
    """Whether both read the same writing, as for "What is written in a.png? Give me the words."."""
    reads = all(f"`{text_tools.READER}`." in either.description for either in (subtask, other))
    return reads and subtask.args == other.args and subtask.return_types == other.return_types


def _target(
    *, sentence: _Sentence, kinds: set[ResourceType], tools: Sequence[Tool], lexicon: Lexicon, admitted: Sequence[Tool]
) -> Tool | None:
    """The tool whose result a sentence asks for; None if no tool can be reached."""
    text = sentence.said
    answering = next(
        (
            tool
            for tool in admitted
            if tool.domain.endswith("question-answering")
            and set(tool.input_types) == {*kinds, ResourceType.TEXT}
            and tool.output_types == (ResourceType.TEXT,)
        ),
        None,
    )
    if answering is not None and (sentence.quotes_question or _asks(text)):
        return answering
    reachable = reachable_tools(tools=tools, args=[*kinds, ResourceType.TEXT])
    on_topic = (
        [tool for tool in reachable if kinds & _sources(tool=tool, tools=reachable)]
        if kinds
        else [tool for tool in reachable if set(tool.input_types) == {ResourceType.TEXT}]
    )
    on_topic = [tool for tool in on_topic if tool in admitted]
    if not kinds and not on_topic:
        # Only by demand: other tools make their inputs of the text.
        on_topic = [tool for tool in reachable if tool in admitted]
    likeness = {tool.name: _likeness(text=text, tool=tool, kinds=kinds, lexicon=lexicon) for tool in on_topic}
    best = max(on_topic, key=lambda tool: likeness[tool.name], default=None)
    return best if best is not None and likeness[best.name] >= _LIKE else answering or best


def _likeness(*, text: str, tool: Tool, kinds: set[ResourceType], lexicon: Lexicon) -> float:
    """The similarity of the words, reduced for each input that another tool must make.

    It is increased if the words name a type that the tool makes, such as "mask", and that is not available yet.
    """
    missing = set(tool.input_types) - kinds - {ResourceType.TEXT}
    words = set(content_words(text))
    names_result = any(set(content_words(kind)) <= words for kind in set(tool.output_types) - kinds)
    return lexicon.similarity(text=text, tool=tool) * _INDIRECT ** (len(missing) - names_result)


def _sources(*, tool: Tool, tools: Sequence[Tool]) -> frozenset[ResourceType]:
    """The types that a tool takes, and those from which other tools could make them."""
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


def _shares(*, target: Tool, resources: tuple[Resource, ...]) -> list[tuple[Resource, ...]]:
    """The resources, or one share for each file of a type of which the tool takes one and there are several."""
    counts = Counter(resource.type for resource in resources)
    kind = next((resource.type for resource in resources if counts[resource.type] > 1), None)
    if kind is None or target.input_types.count(kind) > 1:
        return [resources]
    others = tuple(resource for resource in resources if resource.type is not kind)
    return [(resource, *others) for resource in resources if resource.type is kind]


def _chain(*, target: Tool, kinds: set[ResourceType], tools: Sequence[Tool], text: str, lexicon: Lexicon) -> list[Tool]:
    """A tool after the tools that make its inputs, those most similar to the words."""
    chain = [target]
    missing = [kind for kind in target.input_types if kind not in kinds and kind is not ResourceType.TEXT]
    for kind in missing:
        makers = [
            tool
            for tool in tools
            if kind in tool.output_types
            and kinds & set(tool.input_types)
            and set(tool.input_types) <= {*kinds, ResourceType.TEXT}
        ]
        # Makers without a text input come first: the text then selects among their results.
        ranks = {
            tool.name: (ResourceType.TEXT in tool.input_types, -lexicon.similarity(text=text, tool=tool))
            for tool in makers
        }
        if makers:
            chain.insert(0, min(makers, key=lambda tool, ranks=ranks: ranks[tool.name]))  # type: ignore[misc]
    return chain


def _with_selection(*, chain: Sequence[Tool], tools: Sequence[Tool]) -> list[Tool]:
    """The chain with a tool after each maker of a list that selects some of its items by a text."""
    steps: list[Tool] = []
    for tool in chain:
        steps.append(tool)
        if ResourceType.TEXT in tool.input_types or not set(tool.output_types) <= _LISTS:
            continue
        kind = tool.output_types[0]
        selecting = (kind, ResourceType.TEXT), (kind,)
        steps += [other for other in tools if (other.input_types, other.output_types) == selecting]
    return steps


def _text(*, chain: Sequence[Tool], sentence: _Sentence, lexicon: Lexicon) -> str:
    """The text argument of a subtask; empty for none."""
    takes = chain[-1].input_types
    takes_text = ResourceType.TEXT in takes
    terms = {quotation.text for quotation in sentence.quotations if not quotation.is_passage}
    passages = [text.value for text in sentence.texts() if text.value not in terms]
    if takes_text and (chain[-1].domain in _ASKED_OR_DRAWN or set(takes) == {ResourceType.TEXT}):
        # The words outside a passage are the question about it.
        is_complete = not chain[-1].domain.endswith("question-answering") or sentence.quotes_question
        return passages[0] if passages and is_complete else sentence.whole
    if not takes_text and not any(kind in _LISTS for tool in chain for kind in tool.output_types):
        return ""
    if sentence.quotations:
        return passages[0] if takes_text and passages else sentence.quotations[0].text
    name = _object_name(said=sentence.said, lexicon=lexicon)
    return name or (sentence.antecedent if _SPEAKS_BACK.search(sentence.said) else "")


_LISTS = frozenset({ResourceType.CATEGORY, ResourceType.BBOX, ResourceType.MASK})
"""Types with several items, from which a text may select."""


def _object_name(*, said: str, lexicon: Lexicon) -> str:
    """The longest run of words that no tool has, preferably after an article; empty if there is none."""
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

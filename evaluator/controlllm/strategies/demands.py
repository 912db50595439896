"""What each part of a request demands, and which tools do it: the rules by which the chain declines.

A part is a sentence, or a clause with its own verb ("Crop it and email it" has two). Its verb, or the noun of the
wanted result if the verb is light ("make", "give", "I need"), names an act, and each act has the tools that do it. The
world is closed: a verb or a result that no act has is demanded of a tool that does not exist, so the part is declined,
however similar its words are to a tool's description. So is an act on the wrong kind of file, such as cropping a video,
and one whose result is to go where no tool delivers, such as a telephone.

Remarks ("Do nothing else.") and statements ("A cat sits on a mat.") demand nothing.
"""

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from evaluator.controlllm.strategies import text_tools
from evaluator.controlllm.strategies.verbs import base_of_verb, domain_of_verb, may_be_verb
from evaluator.core.tools.types import ResourceType, Tool


@dataclass(frozen=True, slots=True)
class Demand:
    """What one part of a request demands."""

    tools: frozenset[str] = frozenset()
    """The tools that do it, any of which may make its result."""
    lacks: str = ""
    """Why no tool does it, as part of a sentence; empty if one does, or if nothing is demanded."""

    @property
    def is_empty(self) -> bool:
        """Whether the part is a remark."""
        return not self.tools and not self.lacks


_DATA: Mapping[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def _words(*choices: str) -> re.Pattern[str]:
    """Whole words or phrases in any case, by the syntax of `demands.toml`."""
    phrases = (choice.replace(" ... ", r"(?: \S+){0,6}? ").replace(" ", r"\s+") for choice in choices)
    return re.compile(rf"\b(?:{'|'.join(phrases)})(?!\w)", re.IGNORECASE)


def _pattern(name: str) -> re.Pattern[str]:
    """A sentence pattern of `demands.toml`."""
    return re.compile("".join(_DATA["patterns"][name]), re.IGNORECASE)


_GROUPS: Mapping[str, tuple[str, ...]] = {name: tuple(tools) for name, tools in _DATA["groups"].items()}


def _tools_of(name: str) -> tuple[str, ...]:
    return _GROUPS.get(name, (name,))


_IMAGE, _VIDEO, _AUDIO, _TEXT = ResourceType.IMAGE, ResourceType.VIDEO, ResourceType.AUDIO, ResourceType.TEXT
_COUNTS = ("count_objects", "count_masks", "count_categories")
_ASKED = ("image_question_answering",)
_MASKS = ("image_instance_segmentation", "select_mask", "segment_anything", "image_segmentation_by_mask")
_BOXES, _CLASSES, _CAPTIONS = _GROUPS["boxing"], _GROUPS["naming"], _GROUPS["describing"]
_WRITERS, _EDITORS = _GROUPS["writing"], _GROUPS["editing"]
_ANNOTATORS = ("title_generation", "text_to_tags", "named_entity_recognition", "summarization", "sentiment_analysis",
               "extract_location")  # fmt: skip
"""Tools that annotate a text."""
_ALONG: Mapping[str, Sequence[str]] = _DATA["along"]
_NOUNS, _NOUNS_OF_TEXTS = (
    tuple(
        (_words(*result["nouns"]), _tools_of(result["tools"]))
        for result in _DATA["results"]
        if result.get("of", "") == source
    )
    for source in ("", "text")
)
"""Wanted results and the tools that make them. The first word of the noun phrase decides, then this order."""
_VERBS = tuple((_words(*act["verbs"]), _tools_of(act["tools"])) for act in _DATA["acts"])
"""Verbs that say by themselves what is wanted, and the tools that do it."""
_OF_TEXTS = tuple((_words(*question["phrases"]), _tools_of(question["tools"])) for question in _DATA["questions"])
"""Questions about a text, with the tools whose result is the answer."""
_ANYWHERE = tuple((_words(*act["anywhere"]), _tools_of(act["tools"])) for act in _DATA["acts"] if "anywhere" in act)
"""Phrases about a picture that say what is wanted wherever they are."""
_LIGHT = _words(*_DATA["light"]["verbs"])
_TELLS = _words(*_DATA["telling"]["verbs"])
_OUTWARD = _words(*_DATA["outward"]["verbs"])
_OUTWARD_DOMAINS = frozenset(_DATA["outward"]["domains"])
_OF_PARTICIPLES = tuple(
    (_words(*act["participles"]), _tools_of(act["tools"])) for act in _DATA["acts"] if "participles" in act
)
"""A wish for something to be done: "I want the dog removed"."""
_DRAWS = _words(*_DATA["phrases"]["draws"])
_TURNS = _pattern("turns")
_INTO = _pattern("into")
_AS = _pattern("as")
_CHANGED = _pattern("changed")
_SIZES = _words(*_DATA["phrases"]["sizes"])
_STARTS = re.compile(rf"^\W*(?:{_words(*_DATA['openings']['adverbs']).pattern}\W*)+", re.IGNORECASE)
_ADDRESS = _pattern("address")
_BESIDE = _pattern("beside")
_VERSION_OF = _pattern("version_of")
_NAMED_PICTURE = _pattern("named_picture")
_MADE_MINE = _pattern("made_mine")
_HYPOTHETICAL = _pattern("hypothetical")
_SHOWN_AS = _pattern("shown_as")
_POLITE = re.compile(rf"^\W*{_words(*_DATA['openings']['polite']).pattern}\W*(?:please\b\W*)?", re.IGNORECASE)
_WISHES = re.compile(
    rf"^\W*(?:i|we)(?:'d| would| am| are|'m|'re)?\s+(?:also |only |just |really |still )?"
    rf"{_words(*_DATA['openings']['wishes']).pattern}\s+",
    re.IGNORECASE,
)
_REMARK = _pattern("remark")
_QUESTION = _pattern("question")
_STATES = _pattern("states")
_CLAUSE_QUESTION = _pattern("clause_question")
_DETERMINERS = frozenset(_DATA["words"]["determiners"])
_SUBJECTS = frozenset(_DATA["words"]["subjects"])
_LATE_SUBJECT = _pattern("late_subject")
_SPEAKS_BACK = _pattern("speaks_back")
_WONDERS = _pattern("wonders")
_OPINION = _pattern("opinion")
_BECOMES = _pattern("becomes")
_LOOKS = _pattern("looks")
_CHECKS = _pattern("checks")
_PLEASE = _pattern("please")
_PREPOSITIONS = frozenset(_DATA["words"]["prepositions"])
_AWAY = _DATA["elsewhere"]
_OF_SOMEBODY = r"(my|our|his|her|their) (?!own\b)(\w+ ){0,2}"
_ELSEWHERE = _words(
    *_AWAY["results"],
    rf"(to|on|from|at|onto|in|into|with|for) {_OF_SOMEBODY}({'|'.join(_AWAY['places'])})",
    rf"(to|with|at) {_OF_SOMEBODY}({'|'.join(_AWAY['persons'])})",
    rf"(in|into|to|from) (\w+ )?({'|'.join(_AWAY['languages'])})",
)
"""Results and places that no tool makes or reaches."""
_LATER = _words(*_AWAY["times"])
_PROPERTY = _words(*_DATA["phrases"]["properties"])
_AS_IF = re.compile(r",?\s+as (?:if|though)\b.*", re.IGNORECASE)
"""A comparison, which asks for nothing and says nothing about the picture."""
_ALOUD = _pattern("aloud")
_NOT_SEEN, _NOT_OF_CLIPS, _NOT_HEARD = (_words(*_DATA["unseen"][kind]) for kind in ("picture", "clip", "sound"))
"""What cannot be read from a picture, a clip or a sound."""
_CLIP_SHOWS = _words(*_DATA["unseen"]["clip_shows"])
_SPOKEN = _words(*_DATA["phrases"]["spoken"])
_MAP_WORDS = _pattern("map_words")
_SIMILAR = _pattern("similar")
_ARTICLE_AND_NOUN = _pattern("article_and_noun")
_ARTICLE = _pattern("article")
_PART_INTO = _pattern("part_into")
_WELCOME = _pattern("welcome")
_SOMETHING = _pattern("something")
_MEDIA_WORDS = _pattern("media_words")
_ALONG_WORDS = _words(*_DATA["phrases"]["along_words"])
_NP_ENDS = _pattern("np_ends")
_TIME = _pattern("time")
_WEATHER = _words(*_DATA["phrases"]["weather"])
_POINTS = _pattern("points")
_WHOLE_FILE = _pattern("whole_file")
_NOT_REMOVED = _words(*_DATA["unseen"]["removal"])
_AFTER_RESULT = _pattern("after_result")
_HAVE = _pattern("have")
_PARTICLE = _pattern("particle")
_PHRASES = {name: _words(*choices) for name, choices in _DATA["phrases"].items()}
_QUOTE = '"..."'
_WORD = re.compile(r"[A-Za-z][A-Za-z'-]*")
_JOIN = re.compile(
    # Only from the start of a run of spaces, in which it would else take cubic time.
    r"(?<!\s)(?:\s*[,;])?\s+(?:and|then|plus|before)\s+"
    r"(?:then |also |please |afterwards |finally |so )*|,\s+(?:so |please )*|(?<!\s)\s+so\s+",
    re.IGNORECASE,
)
_TWO_PICTURES = re.compile(
    r"\bthe image (?:and|with|into|by|for) the image\b"
    r"|\bthe image\b.*\b(?:with|by|for|on|onto|to|into|over) (?:the |a )?(?:\w+ ){1,2}(?:of|in|from) the image\b",
    re.IGNORECASE,
)
"""An order to make one picture of two."""
_DRAWS_IT = _pattern("draws_it")
_MOST_TARGETS = 4
_LONGEST = 500
"""Characters of a part that are read: some expressions take quadratic time."""


def _says(name: str, text: str) -> bool:
    """Whether a text has one of the words or phrases of this name in `demands.toml`."""
    return _PHRASES[name].search(text) is not None


def _begins(name: str, text: str) -> bool:
    """Whether a text begins with one of them."""
    return _PHRASES[name].match(text) is not None


_SHORT_FORMS = (
    (re.compile(r"\b(what|where|who|when|how|why|there|here|it|that|he|she)['\u2019]s\b", re.IGNORECASE), r"\1 is"),
    (re.compile(r"\b(i)['\u2019]m\b", re.IGNORECASE), r"\1 am"),
    (re.compile(r"\b(we|you|they|what|who|where)['\u2019]re\b", re.IGNORECASE), r"\1 are"),
    (re.compile(r"\b(i|we|you|he|she|they|it)['\u2019]d\b", re.IGNORECASE), r"\1 would"),
)


def _in_full(text: str) -> str:
    """A text without short forms: "what is" for "what's"."""
    for short, full in _SHORT_FORMS:
        text = short.sub(full, text)
    return text


def _imperative(text: str) -> str:
    """An order after a polite phrase with its verb in base form: "removed" and "removing" are "remove"."""
    first, space, rest = text.partition(" ")
    return f"{base_of_verb(first.lower())}{space}{rest}" if first.lower().endswith(("ed", "ing")) else text


def _begun(text: str) -> str:
    """A text without its address and first adverbs, and without short forms."""
    return _STARTS.sub("", _ADDRESS.sub("", _STARTS.sub("", _in_full(text))))


def parts_of(sentence: str, *, is_statement: bool = False) -> Iterator[str]:
    """The clauses of a sentence that have a verb of their own, in order.

    Args:
        sentence: the sentence.
        is_statement: whether it states something, so that only a clause that begins with a known verb is an order.
    """
    start = 0
    for join in _JOIN.finditer(sentence):
        before, after = sentence[start : join.start()], sentence[join.end() : join.end() + _LONGEST]
        if sentence.count('"', 0, join.start()) % 2 or not _begins_clause(after, known_only=is_statement):
            continue
        if _SPEAKS_BACK.search(after) and is_remark(before):
            continue
        if len(_WORD.findall(before)) < 2 or _heads_nothing(before) or _DRAWS_IT.match(after):
            continue
        yield before.strip()
        start = join.end()
    yield sentence[start:].strip()


def _begins_clause(text: str, *, known_only: bool) -> bool:
    """Whether a text begins with a verb, if so wanted a known one, and its object."""
    text = _STARTS.sub("", text)
    words = _WORD.findall(text)
    if len(words) < 2 or text.startswith('"') or words[0].lower() in _DETERMINERS | _PREPOSITIONS:
        return bool(re.match(r"(?:i|we) (?:want|need|would)\b|tell me\b|can you\b|could you\b", text, re.IGNORECASE))
    known = any(pattern.match(text) for pattern, _ in _VERBS) or _LIGHT.match(text) is not None
    if known_only and not known:
        return False
    follows = words[1].lower()
    has_object = follows in _DETERMINERS or follows in {"me", "us", "how", "what", "whether", "if", "which", "where"}
    if follows in {"the", "it", "them", "me", "us", "my"}:
        return True
    if follows == "to" and (known or _OUTWARD.match(text)):
        return True
    has_object = has_object or re.match(r"\w+\s+(?:out |up |down |only )?(?:the\b|\S+\.\w{2,4}\b|\")", text) is not None
    question = re.match(r"(?:how many|how much|what|where|who|which|is|are|does|do)\b", text, re.IGNORECASE)
    return question is not None or (has_object and (known or may_be_verb(words[0].lower())))


def draws_it(text: str) -> bool:
    """Whether a part only orders to draw what was said before."""
    return _DRAWS_IT.match(_begun(text[:_LONGEST])) is not None


def _heads_nothing(text: str) -> bool:
    """Whether a text is only the beginning of a clause: a phrase with a preposition, or an address."""
    text = _begun(text[:_LONGEST])
    first = next(iter(_WORD.findall(text)), "").lower()
    return (
        not text
        or _LOOKS.match(text) is not None
        or (first in _PREPOSITIONS and not any(p.search(_ARTICLE_AND_NOUN.sub("", text)) for p, _ in _VERBS))
    )


def demand_of(
    said: str,
    *,
    kinds: Collection[ResourceType],
    tools: Sequence[Tool],
    quotes: bool = False,
    is_implied: bool = False,
) -> Demand:
    """What a part demands, and by which of the offered tools.

    Args:
        said: the part, with "the image" for the name of a file, and without its quotations.
        kinds: types of its resources.
        tools: the offered tools.
        quotes: whether it has a quotation, or the text of an earlier one.
        is_implied: whether the request demands nothing in so many words, though it has files or texts. Then a question
            within a statement, a wanted state ("the pole has to go") or a result beside something is meant.
    """
    said = _NAMED_PICTURE.sub("", _AS_IF.sub("", said[:_LONGEST]))
    if is_remark(said) and not is_implied:
        return Demand()
    away = _ELSEWHERE.search(said)
    # "Keywords for my blog" are not to be put there.
    if away is not None and not (quotes and away[0].lower().startswith("for ")):
        return Demand(lacks=f'no tool does this part: "{away[0]}"')
    later = _LATER.search(said)
    if later is not None and not said.rstrip(' "').endswith("?") and not _WEATHER.search(said):
        return Demand(lacks=f'tools run at once: "{later[0]}"')
    read = _implied if is_implied else _doers
    doers, what = read(said, kinds=set(kinds), quotes=quotes)
    if not doers:
        return Demand(lacks=what) if what else Demand()
    given = {*kinds, _TEXT}
    fitting = _fitting(doers, kinds=set(kinds))
    if not fitting:
        names = ", ".join(sorted(kinds)) or "no file"
        return Demand(lacks=f"{_named(doers)} does not work on what is given: {names}")
    offered = [tool for tool in tools if tool.name in fitting]
    if not offered:
        return Demand(lacks=f"the tool for it is missing here: {_named(fitting)}")
    served = [tool for tool in offered if _can_start(tool, given=given, tools=tools)]
    if not served:
        needed = sorted(
            {str(kind) for tool in offered[:1] for kind in tool.input_types} - {str(kind) for kind in given}
        )
        return Demand(
            lacks=f"{offered[0].name} needs {' and '.join(needed) or 'a file'}, which the request does not give"
        )
    return Demand(tools=frozenset(tool.name for tool in served))


def _named(names: Collection[str]) -> str:
    return " or ".join(list(names)[:2])


def is_remark(said: str) -> bool:
    """Whether a part wants nothing: a statement, thanks, or a rule for the rest."""
    text = _begun(said[:_LONGEST])
    if not _WORD.search(text.replace(_QUOTE, "")) or _REMARK.match(text):
        return True
    if _QUESTION.match(text) or _POLITE.match(text) or _WISHES.match(text) or _WONDERS.match(text):
        return _LATE_SUBJECT.match(text) is not None and "?" not in text
    first = _WORD.findall(text)[0].lower()
    asked = _PLEASE.search(text)
    if asked is not None and first in _SUBJECTS:
        return is_remark(text[asked.end() :])
    if first in _SUBJECTS or _LATE_SUBJECT.match(text):
        return True
    if first in _DETERMINERS and _WELCOME.search(text):
        return False
    if first in _DETERMINERS:
        # A noun phrase ("The edge map of a.png, please.") demands its noun; a sentence with a verb states something.
        return _STATES.search(text) is not None
    return False


def _implied(said: str, *, kinds: set[ResourceType], quotes: bool) -> tuple[tuple[str, ...], str]:
    """The tools that do what a statement or a phrase implies; or none, and why."""
    text = _begun(said)
    if _IMAGE in kinds and (wanted := next((doers for phrase, doers in _ANYWHERE if phrase.search(text)), ())):
        return wanted, ""
    if (asked := _CLAUSE_QUESTION.search(text)) is not None:
        return _answering(text[asked.start() :], kinds=kinds, quotes=quotes)
    for beside in islice(_BESIDE.finditer(text), _MOST_TARGETS):
        if named := _result(text[beside.end() :], whole=said, kinds=kinds, quotes=quotes):
            return named, ""
    if _IMAGE in kinds and _SIMILAR.search(text) and _SOMETHING.match(text):
        return ("image_to_image",), ""
    return (), ""


def _doers(said: str, *, kinds: set[ResourceType], quotes: bool) -> tuple[tuple[str, ...], str]:
    """The tools that do what a part says; or none, and why."""
    text = _begun(said)
    wonders = _WONDERS.match(text)
    if _OPINION.match(text):
        return _answering(text, kinds=kinds, quotes=quotes)
    if wonders is not None:
        asked = _CLAUSE_QUESTION.search(text)
        assert asked is not None
        return _answering(text[asked.start() :], kinds=kinds, quotes=quotes)
    first = next(iter(_WORD.findall(text)), "").lower()
    if first in _SUBJECTS and (asked := _PLEASE.search(text)) is not None:
        text = text[asked.end() :]
    is_polite = _POLITE.match(text) is not None
    text = _imperative(_STARTS.sub("", _POLITE.sub("", text, count=1))) if is_polite else text
    wish = _WISHES.match(text)
    text = text[wish.end() :] if wish else text
    if _ALOUD.search(text) and _says("reads_aloud", text):
        return ("text_to_speech",), ""
    if _says("read_out", text) and kinds <= {_TEXT}:
        return ("text_to_speech",), ""
    act = next((doers for pattern, doers in _VERBS if pattern.match(text)), ())
    if act == _EDITORS and kinds & {_VIDEO, _AUDIO}:
        # Not the title or tags of what is to be added to a clip.
        return act, ""
    if _OUTWARD.match(text) and not act and not _names_result(text) and not _by_means(text):
        return (), f'there is no tool to "{text.split()[0].lower()}" anything'
    annotations = text_tools.annotations(said)
    if _QUESTION.match(text) and not is_polite and not (annotations and quotes):
        return _answering(text, kinds=kinds, quotes=quotes)
    if annotations and (quotes or kinds & {_IMAGE, _VIDEO, _AUDIO, _TEXT}):
        is_source = not kinds or quotes or text_tools.source(said=said, annotation=annotations[0], kinds=kinds)
        if is_source:
            return annotations, ""
    if _IMAGE in kinds and (wanted := next((doers for phrase, doers in _ANYWHERE if phrase.search(text)), ())):
        return wanted, ""
    if _IMAGE in kinds and text_tools.wants_reading(said):
        return (text_tools.READER,), ""
    if quotes and _says("of_question", text):
        return ((*_ASKED, "video_classification") if kinds & {_IMAGE, _VIDEO} else _WRITERS), ""
    if _LOOKS.match(text) and (joined := re.search(r",? and (?:then )?(?=\w+ )", text)) is not None:
        text = text[joined.end() :]
    return _of_order(text, said=said, kinds=kinds, quotes=quotes, is_wish=wish is not None, is_polite=is_polite)


def _of_order(
    text: str, *, said: str, kinds: set[ResourceType], quotes: bool, is_wish: bool, is_polite: bool
) -> tuple[tuple[str, ...], str]:
    """The tools for an order or a wish, without its polite words; or none, and why."""
    if _IMAGE in kinds and _VERSION_OF.match(text):
        return _result(text, whole=said, kinds=kinds) or _EDITORS, ""
    if _MADE_MINE.match(text):
        return (), "no tool puts a picture to use"
    head = _head(text)
    has_wish = is_wish or _HAVE.match(text) is not None or is_polite
    done = next((doers for pattern, doers in _OF_PARTICIPLES if pattern.search(text)), ()) if has_wish else ()
    if done:
        return _of_verb(done, verb=text, whole=said, kinds=kinds, quotes=quotes)
    if (is_wish or is_polite) and _IMAGE in kinds and _BECOMES.match(text):
        return _EDITORS, ""
    if _names_result(text):
        return _noun(text, whole=said, kinds=kinds, quotes=quotes)
    if said.rstrip(' "').endswith("?") and not (is_polite or is_wish):
        return _answering(text, kinds=kinds, quotes=quotes)
    if not is_wish and not is_polite and head and head[0].lower() in _DETERMINERS:
        # A noun phrase that names no result is a remark: "The cable in a.png bothers me".
        return _noun(text, whole=said, kinds=kinds, quotes=quotes)[0], ""
    if is_wish or (head and head[0].lower() in _DETERMINERS):
        return _noun(text, whole=said, kinds=kinds, quotes=quotes)
    verb = " ".join(head)
    if _POINTS.search(text) and _says("cut_at_points", text):
        return ("image_segmentation_by_points",), ""
    if _tells(verb) and _CLAUSE_QUESTION.search(verb.partition(" ")[2]):
        asked = _CLAUSE_QUESTION.search(verb.partition(" ")[2])
        assert asked is not None
        return _answering(verb.partition(" ")[2][asked.start() :], kinds=kinds, quotes=quotes)
    if kinds and (_CHECKS.match(verb) or _begins("assures", verb)):
        return _answering(verb, kinds=kinds)
    for pattern, doers in _VERBS:
        match = pattern.match(verb)
        if match is not None and doers:
            return _of_verb(doers, verb=verb, whole=said, kinds=kinds, quotes=quotes)
    if _LIGHT.match(verb) or _LOOKS.match(verb):
        return _noun(_LIGHT.sub("", verb, count=1), whole=said, kinds=kinds, quotes=quotes)
    if not head or not (may_be_verb(head[0].lower()) or kinds & {_IMAGE, _VIDEO, _AUDIO}):
        # "Too long for me" orders nothing.
        return (), ""
    if means := _by_means(text):
        return _doers(means, kinds=kinds, quotes=quotes)
    if not _acts_outward(verb):
        _, _, after = verb.partition(" ")
        result = after if may_be_verb(head[0].lower()) else verb
        named, _ = _noun(_PARTICLE.sub("", result), whole=said, kinds=kinds, quotes=quotes)
        if named:
            return named, ""
    return (), f'there is no tool to "{head[0].lower()}" anything'


def _names_result(text: str) -> bool:
    """Whether a text is a noun phrase without an article that begins with a result: "Edge map of a.png, please."."""
    for pattern, _ in _NOUNS:
        noun = pattern.match(text)
        if noun is not None and _AFTER_RESULT.match(text, noun.end()):
            return True
    return False


def _acts_outward(verb: str) -> bool:
    """Whether a verb does something in the world, or with a result, so that no result beside it is asked for."""
    return _OUTWARD.match(verb) is not None or domain_of_verb(verb.partition(" ")[0].lower()) in _OUTWARD_DOMAINS


def _by_means(text: str) -> str:
    """The order that a part names as its means: "Clean it up by removing the cable" is "remove the cable"."""
    means = re.search(r"\bby (\w+)ing\b(.*)", text, re.IGNORECASE)
    if means is None:
        return ""
    for base in (means[1], f"{means[1]}e", means[1][:-1]):
        order = f"{base}{means[2]}"
        if any(pattern.match(order) for pattern, doers in _VERBS if doers):
            return order
    return ""


def _tells(verb: str) -> bool:
    return _TELLS.match(verb) is not None


def _head(text: str) -> list[str]:
    """The words from the verb on: after a phrase with a preposition, as in "From a.png, extract the line map."."""
    words = text.replace(_QUOTE, " ").split()
    first = words[0].lower().strip(",.:;") if words else ""
    if first not in _PREPOSITIONS:
        return [word.strip(".:;!?") for word in words]
    after = text.partition(", ")[2] or text
    rest = _STARTS.sub("", after).split()
    if rest and rest[0].lower() not in _PREPOSITIONS:
        return [word.strip(".:;!?") for word in rest]
    places = [match.start() for pattern in (_LIGHT, *(own for own, _ in _VERBS)) if (match := pattern.search(text))]
    return text[min(places) :].split() if places else []


def _answering(text: str, *, kinds: set[ResourceType], quotes: bool = False) -> tuple[tuple[str, ...], str]:
    """The tools that answer a question."""
    media = kinds & {_IMAGE, _VIDEO, _AUDIO}
    if quotes and not media and (found := next((doers for asked, doers in _OF_TEXTS if asked.search(text)), ())):
        return found, ""
    if not media:
        if _MEDIA_WORDS.search(text):
            return (), "the request gives no file for it"
        if _WEATHER.search(text):
            return ("get_weather",), ""
        return (("get_time",), "") if _TIME.search(text) else (_WRITERS[::-1], "")
    if _IMAGE in kinds and _HYPOTHETICAL.search(text):
        return _EDITORS, ""
    if _IMAGE in kinds:
        unseen = _NOT_SEEN.search(text)
        if unseen is not None:
            return (), f'no tool can tell from a picture what is asked: "{unseen[0]}"'
        if _begins("asks_number", text):
            return (*_COUNTS, *_ASKED), ""
        if _begins("asks_place", text):
            return (*_ASKED, *_BOXES), ""
        reading = text_tools.wants_reading(text)
        return (text_tools.READER, *_ASKED) if reading else (*_ASKED, "image_classification", "select_category",
                                                             "image_captioning", *_BOXES), ""  # fmt: skip
    if _VIDEO in kinds:
        unseen = _NOT_OF_CLIPS.search(text) or _NOT_SEEN.search(text)
        if unseen is not None:
            return (), f'no tool answers this about a video: "{unseen[0]}"'
        if not _CLIP_SHOWS.search(text):
            return (), "the tools for videos name or describe what happens, nothing else"
        return ("video_classification", "select_category", "video_captioning"), ""
    unheard = _NOT_HEARD.search(text)
    if unheard is not None:
        return (), f'no tool answers this about a sound: "{unheard[0]}"'
    return (("speech_to_text",) if _SPOKEN.search(text) else ("audio_classification",)), ""


def _of_verb(
    doers: tuple[str, ...], *, verb: str, whole: str, kinds: set[ResourceType], quotes: bool
) -> tuple[tuple[str, ...], str]:
    """The tools of a verb, where its object makes another one of it."""
    if "image_inpainting" in doers and _WHOLE_FILE.match(verb):
        return (), "no tool deletes files"
    if {"image_inpainting", "mask_image"} & {*doers} and (kept := _NOT_REMOVED.search(verb)) is not None:
        return (), f'no tool removes this: "{kept[0]}"'
    if {"image_cropping", "text_image_editing"} & {*doers} and (changed := _object_property(verb)):
        return (), f'no tool changes this: "{changed}"'
    if "image_cropping" in doers and _begins("crops", verb):
        follows = _says("along_outline", whole)
        return (("mask_image",) if follows else doers), ""
    if "image_cropping" in doers and _says("outlined", whole):
        is_boxed = _says("boxed", whole)
        return (("image_cropping",) if is_boxed else ("mask_image",)), ""
    if "mask_image" in doers and _says("boxed_or_cropped", whole):
        return ("image_cropping",), ""
    if "segment_anything" in doers and re.match(
        r"\w+\s+(?:out\s+)?(?:the|a|an|this|that|its)\b(?! (?:\w+ )?image\b)", verb
    ):
        return tuple(name for name in doers if name != "segment_anything"), ""
    if doers == _BOXES and _says("masked", verb):
        return _MASKS, ""
    if doers == _BOXES and _begins("seeks", verb):
        rest = _noun(re.sub(r"^\w+( for)?", "", verb, count=1), whole=whole, kinds=kinds, quotes=quotes)[0]
        known = [own for own in rest if own not in ("text_to_image", "image_to_video", "text_to_video")]
        return (tuple(known) or _BOXES), ""
    if doers == _CLASSES:
        return ((*_CLASSES, "image_captioning", "video_captioning", *_ASKED) if kinds else _CLASSES), ""
    if doers[0] in _WRITERS and kinds & {_IMAGE, _VIDEO}:
        return _noun(verb, whole=whole, kinds=kinds, quotes=quotes)
    if doers == _WRITERS and _begins("writes", verb):
        named = _noun(re.sub(r"^\w+", "", verb, count=1), whole=whole, kinds=kinds, quotes=quotes)[0]
        return (named if named == ("text_to_music",) else _WRITERS), ""
    if doers == ("summarization",) and kinds & {_IMAGE, _VIDEO} and not quotes:
        return (_CAPTIONS, "") if _begins("sums_up", verb) else ((), "no tool shortens a picture or a clip")
    if doers == _EDITORS and _TWO_PICTURES.search(whole):
        return (), "no tool makes one picture of two"
    if doers == _EDITORS:
        return (_EDITORS if _IMAGE in kinds else ("text_image_editing",)), ""
    if "highlight_object_on_image" in doers and _says("pictures", verb) and not kinds:
        return ("text_to_image",), ""
    if doers[0] == text_tools.READER:
        return ((text_tools.READER,) if _AUDIO not in kinds else ("speech_to_text",)), ""
    return doers, ""


def _object_property(verb: str) -> str:
    """The property of a file that an order is about: "Reduce the quality of the image"; empty if it is about none."""
    about = re.match(r"\w+ (?:the |its |this |my )?(?:\w+ )?(?=\w)", verb)
    found = _PROPERTY.search(verb)
    of_file = re.search(r"\bof (?:the )?(?:image|picture|photo|video|clip|file|audio)\b|\bits\b", verb)
    return found[0] if about and found is not None and of_file is not None and found.start() <= about.end() else ""


def _noun(text: str, *, whole: str, kinds: set[ResourceType], quotes: bool) -> tuple[tuple[str, ...], str]:
    """The tools that make the result which a noun phrase names."""
    if _IMAGE in kinds and _CHANGED.search(whole) and (size := _SIZES.search(whole)) is not None:
        return (), f'no tool changes this: "{size[0]}"'
    form = _AS.search(whole)
    if form is not None and _is_made(named := _result(form[1], whole=whole, kinds=kinds)):
        return named, ""
    if _IMAGE in kinds and _PART_INTO.search(whole):
        return _EDITORS, ""
    targets = _targets(whole)
    changed = next((own for own in targets if _result(own, whole=whole, kinds=kinds)), targets[0] if targets else "")
    target = changed if changed and _result(changed, whole=whole, kinds=kinds) else text
    named = _result(target, whole=whole, kinds=kinds, quotes=quotes)
    if named:
        if quotes and text_tools.annotations(whole):
            return text_tools.annotations(whole), ""
        return named, ""
    if changed and _IMAGE in kinds and _says("becoming", whole):
        noun = re.match(r"(?:an? |the )?([\w-]+(?: [\w-]+)?)", changed)
        if _says("looks_otherwise", whole):
            return _EDITORS, ""
        return (), f'no tool makes this: "{noun[1] if noun else changed}"'
    if _IMAGE in kinds and _CHANGED.search(whole):
        return _EDITORS, ""
    if _MAP_WORDS.search(whole) and _IMAGE in kinds and _ALONG_WORDS.search(whole) and _DRAWS.search(whole):
        return _drawn(whole, kinds=kinds), ""
    is_drawn = _DRAWS.search(whole) is not None and _says("pictures", whole) and not kinds - {_TEXT}
    if is_drawn and not re.match(r"\W*(?:my|our|his|her|their)\b", text):
        return ("text_to_image",), ""
    if kinds & {_IMAGE} and _says("with_or_without", text) and re.match(r"\s*(?:me )?the (?:image|picture)", text):
        return ("image_inpainting", *_EDITORS), ""
    if _IMAGE in kinds and _SIMILAR.search(whole) and _SOMETHING.match(text):
        return ("image_to_image",), ""
    if _IMAGE in kinds and _SHOWN_AS.match(text):
        return _EDITORS, ""
    if means := _by_means(whole):
        return _doers(means, kinds=kinds, quotes=quotes)
    wanted = re.sub(r"^\W*(?:(?:me|us|for me|a|an|the|its|some|just|only)\b\s*)+", "", text).strip(" .,:;!?")
    wanted = _NP_ENDS.split(wanted)[0].strip() or wanted
    return (), (f'no tool makes this: "{wanted}"' if wanted else "")


def _targets(whole: str) -> list[str]:
    """What something is to be turned into, in each reading, at most `_MOST_TARGETS`."""
    turns = _TURNS.search(whole)
    into = _INTO.finditer(whole, turns.end()) if turns is not None else iter(())
    return [whole[match.end() :] for match in islice(into, _MOST_TARGETS)]


def _is_made(named: Sequence[str]) -> bool:
    """Whether a result is more than a picture or clip, as which any file could be wanted."""
    return bool(named) and not named[0].endswith(("to_image", "to_video"))


def _result(text: str, *, whole: str, kinds: set[ResourceType], quotes: bool = False) -> tuple[str, ...]:
    """The tools of the first result that a noun phrase names."""
    phrase = re.sub(r"^\W*(?:(?:me|us|for me|out|to have|to see|to know|back)\b\s*)+", "", text)
    end = _NP_ENDS.search(phrase)
    first = phrase[: end.start()] if end else phrase
    if re.fullmatch(r"\W*(?:the|this|that|my)\s+(?:image|picture|photo|video|clip)\W*", first) and end is not None:
        if end[0].lower() == "without":
            return ("image_inpainting",)
        rest = phrase[end.end() :]
        return _result(rest, whole=whole, kinds=kinds, quotes=quotes) if end[0].lower() in ("so", "along") else ()
    if re.search(r"\bpart\b", first) and kinds & {_IMAGE}:
        return ("mask_image",) if _says("mask_or_outline", whole) else ("image_cropping",)
    of_texts = _NOUNS_OF_TEXTS if quotes and not kinds & {_IMAGE, _VIDEO, _AUDIO} else ()
    for pattern, tools in (*of_texts, *_NOUNS):
        found = pattern.search(first) or pattern.match(_ARTICLE.sub("", phrase))
        if found is None:
            continue
        if tools == ("text_to_image",):
            return _drawn(whole, kinds=kinds)
        if tools[0] == "image_to_video":
            return ("image_audio_to_video",) if _AUDIO in kinds else (
                ("image_to_video",) if _IMAGE in kinds else ("text_to_video",))  # fmt: skip
        if tools[0].startswith("image_to_") and re.search(
            r"\b(?:generate|paint|draw|create)\b.*\b(?:image|picture)\b", whole
        ):
            return _drawn(whole, kinds=kinds)
        if tools == _CAPTIONS and not kinds:
            return _WRITERS
        return tools
    return ()


def _drawn(whole: str, *, kinds: set[ResourceType]) -> tuple[str, ...]:
    """The tools that draw a new picture."""
    mapped = [name for name in _ALONG if ResourceType(name) in kinds]
    if not mapped and _IMAGE in kinds and (match := _MAP_WORDS.search(whole)) is not None:
        word = match[0].lower()
        mapped = [name for name, words in _ALONG.items() if any(re.match(own, word) for own in words)][-1:]
        mapped = ["hed"] if word.startswith("soft") else mapped
    if mapped:
        return tuple(f"{name}_text_to_image" for name in mapped)
    if re.search(r"\bwithout\b", whole) and _IMAGE in kinds:
        return ("image_inpainting",)
    is_new = _says("makes_new", whole)
    if is_new and not _SIMILAR.search(whole):
        return ("text_to_image",)
    similar = _SIMILAR.search(whole)
    if _IMAGE in kinds:
        return ("image_to_image",) if similar else ("text_image_editing",) if _CHANGED.search(whole) else ()
    return ("text_to_image",)


def _fitting(doers: Sequence[str], *, kinds: set[ResourceType]) -> tuple[str, ...]:
    """The tools that work on the kinds of files that a part has."""
    media = kinds & {_IMAGE, _VIDEO, _AUDIO}
    if media == {_VIDEO}:
        about = [name for name in doers if name.startswith("video_") or name in (
            "dub_video", "select_category", *_ANNOTATORS)]  # fmt: skip
        return tuple(about)
    if media == {_AUDIO}:
        return tuple(name for name in doers if name in ("speech_to_text", "audio_classification", "select_category",
                                                        *_ANNOTATORS))  # fmt: skip
    return tuple(name for name in doers if not (name.startswith("video_") and _VIDEO not in kinds))


def _can_start(tool: Tool, *, given: set[ResourceType], tools: Sequence[Tool]) -> bool:
    """Whether a tool's inputs are given, or can be made of what is given without making up a picture, clip or sound."""
    available = set(given)
    while True:
        new = {
            kind
            for other in tools
            if not other.domain.endswith("generation") and available.issuperset(other.input_types)
            for kind in other.output_types
        }
        if new <= available:
            return available.issuperset(tool.input_types)
        available |= new

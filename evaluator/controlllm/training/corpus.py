"""The corpus of the decomposer: worded requests with their decompositions, one for each number, always the same.

A request is one to four clauses. A clause asks for one thing (`acts`), of an image or a video of its own, of the one
before, of several at once, or of what an earlier clause made.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from evaluator.controlllm.strategies.trained.kinds import GUIDES, MAPS, Form
from evaluator.controlllm.training import frames, phrasebook
from evaluator.controlllm.training.acts import ACTS, Act, Words
from evaluator.controlllm.training.drafting import Draft, Pair, Said, Source, UnreadableError, finished
from evaluator.controlllm.training.vocabulary import OBJECTS, pick, with_article
from evaluator.controlllm.training.wording import expand
from evaluator.core.tools.types import ResourceType

SIZE = 100_000
"""Pairs that are learnt from: the numbers below it. Those from it on are held out."""
_STREAM = 41
_OPENED = 0.25
"""Share of clauses whose files are named before them."""
_SHARES = (0.52, 0.13, 0.25, 0.07, 0.03)
"""Of requests with one clause, one about several files, several clauses, a result that is used, and a comparison."""


def pair_of(number: int, *, seed: int = 0) -> Pair:
    """The pair with this number. Two numbers may give the same request, which `distinct` leaves out."""
    rng = np.random.default_rng([_STREAM, seed, number])
    while True:
        draft = Draft(rng=rng)
        try:
            return finished(draft=draft, text=_FORMS[int(rng.choice(len(_FORMS), p=_SHARES))](draft))
        except UnreadableError:
            continue


def _single(draft: Draft) -> str:
    act = _act(draft)
    return _clause(draft, act=act, sources=[_new(draft, act)])


def _of_several(draft: Draft) -> str:
    act = _act(draft)
    if act.medium is None:
        return _clause(draft, act=act, sources=[None])
    files = [
        draft.file(act.medium) for _ in range(int(draft.rng.choice((2, 3, 4, 5, 6), p=(0.4, 0.3, 0.15, 0.1, 0.05))))
    ]
    return _clause(draft, act=act, sources=list(files))


def _together(draft: Draft) -> str:
    """Several clauses, about files of their own or about the same one."""
    said = ""
    before: str | None = None
    for number in range(int(draft.rng.choice((2, 3, 4), p=(0.55, 0.33, 0.12)))):
        act = _act(draft)
        same = before is not None and draft.files[before] is act.medium and draft.rng.random() < 0.5
        source = before if same else _new(draft, act)
        clause = _clause(draft, act=act, sources=[source], spoken=same and draft.rng.random() < 0.85)
        said = _joined(draft, said, clause) if number else clause
        before = source if isinstance(source, str) else before
    return said


def _made_then(draft: Draft) -> str:
    """An image is made, and something is asked of it."""
    first = pick(draft.rng, [act for act in ACTS if act.gives_image])
    said = _clause(draft, act=first, sources=[_new(draft, first)])
    made = len(draft.subtasks) - 1
    for _ in range(1 + (draft.rng.random() < 0.15)):
        act = pick(draft.rng, [one for one in ACTS if one.medium is ResourceType.IMAGE])
        clause = _clause(draft, act=act, sources=[made], name=pick(draft.rng, frames.RESULTS))
        said = _joined(draft, said, clause)
    return said


def _which(draft: Draft) -> str:
    """Which of several images holds a thing: a question about each."""
    files = [draft.file(ResourceType.IMAGE) for _ in range(int(draft.rng.choice((2, 3))))]
    text, mark = draft.marked(pick(draft.rng, OBJECTS))
    for name in files:
        draft.add("ask", name, Said(Form.IS_THERE, mark))
    listed, article = _listed(draft, files), with_article(text[2:]).split(" ")[0]
    wording = pick(draft.rng, frames.COMPARISONS)
    slots = {"files": listed, "article": article, "thing": text}
    return expand(wording, rng=draft.rng, fill=slots.__getitem__)


_FORMS = (_single, _of_several, _together, _made_then, _which)


def _act(draft: Draft) -> Act:
    weights = np.array([act.weight for act in ACTS])
    return ACTS[int(draft.rng.choice(len(ACTS), p=weights / weights.sum()))]


def _new(draft: Draft, act: Act) -> str | None:
    return None if act.medium is None else draft.file(act.medium)


def _listed(draft: Draft, files: list[str]) -> str:
    return f"{', '.join(files[:-1])}{pick(draft.rng, (' and ', ' and ', ', and ', ', ', ' & '))}{files[-1]}"


def _clause(
    draft: Draft, *, act: Act, sources: Sequence[Source | None],
    spoken: bool = False, name: str = "",
) -> str:  # fmt: skip
    """One clause about its sources, whose subtasks are added for each of them in turn."""
    rng = draft.rng
    opener, where = "", name
    if not name and sources[0] is not None:
        opener, where = _mentioned(draft, files=[str(one) for one in sources], spoken=spoken)
    words = _words(draft, act=act, where=where)
    words.is_mentioned = bool(opener) or spoken
    pattern = pick(rng, act.patterns)
    body = expand(pattern[1:], rng=rng, fill=words.fill)
    several = len(sources) > 1
    sentence = _framed(
        draft, act=act, sign=pattern[0], body=body, words=words, opener=opener, marks=not several or bool(opener)
    )
    own = words
    for source in sources:
        if several and act.patterns is phrasebook.COUNT:
            own = replace(words, marks={"text": words.marks["text"]})
        act.add(draft, source if source is not None else "", own)
    return sentence


def _mentioned(draft: Draft, *, files: list[str], spoken: bool) -> tuple[str, str]:
    """An opener that names the files, mostly none, and how the clause itself calls them."""
    rng, medium = draft.rng, pick(draft.rng, frames.MEDIA[draft.files[files[0]]])
    several = len(files) > 1
    listed = _listed(draft, files) if several else files[0]
    if spoken:
        return "", pick(rng, frames.SPOKEN).format(medium=medium)
    if rng.random() < _OPENED:
        opener = pick(rng, frames.OPENERS_OF_SEVERAL if several else frames.OPENERS)
        called = pick(rng, frames.SPOKEN_OF_SEVERAL if several else frames.SPOKEN)
        return opener.format(file=listed, medium=medium), called.format(medium=medium)
    named = pick(rng, frames.NAMED_SEVERAL if several else frames.NAMED)
    return "", named.format(file=listed, medium=medium)


def _words(draft: Draft, *, act: Act, where: str) -> Words:
    kinds = MAPS if act.patterns is phrasebook.MAKE_MAP else GUIDES
    kind = pick(draft.rng, kinds)
    words = Words(draft=draft, where=where, map=str(kind))
    if act.patterns is phrasebook.FOLLOW_GIVEN:
        words.guide = draft.file(kind)
    if act.patterns is phrasebook.ERASE_MASKED:
        words.mask = draft.file(ResourceType.MASK)
    return words


_FRAMES = {"!": frames.COMMANDS, "@": frames.WANTS, "?": frames.QUESTIONS, "=": ("{C}.",)}


def _framed(draft: Draft, *, act: Act, sign: str, body: str, words: Words, opener: str, marks: bool) -> str:
    """The clause as a sentence; where it is itself a question for a tool it is marked as one."""
    rng = draft.rng
    frame = pick(rng, _FRAMES[sign])
    if opener and not opener.endswith(". "):
        frame = frame.replace("{C}", "{c}")
    is_whole = not (sign == "?" and frame.startswith(("tell", "please", "a question", "I wonder", "quick", "and")))
    if not act.is_question or (not marks and act.patterns is phrasebook.COUNT):
        return opener + _capital(frame.format(c=body, C=_capital(body)), keep=bool(opener) and opener[-2] in ",:")
    if is_whole:
        text = _capital(frame.format(c=body, C=_capital(body)), keep=bool(opener) and opener[-2] in ",:")
        bare = text.rstrip(".?!")
        marked, mark = draft.marked(bare)
        text = marked + text[len(bare) :]
    else:
        marked, mark = draft.marked(body)
        text = frame.format(c=marked, C=marked)
    words.marks["sentence"] = Said(Form.SAY, mark)
    return opener + text


def _joined(draft: Draft, said: str, clause: str) -> str:
    joint = pick(draft.rng, frames.JOINTS)
    before = said.rstrip(".?! ")
    if said[len(before) :].strip() not in {"", "."} or joint[0] not in ".,; ":
        joint = f"{said[len(before) :].strip() or '.'}{joint.lstrip('.,;')}"
        joint = joint if joint.endswith((" ", "\n")) else f"{joint} "
    return f"{before}{joint}{clause}"


def _capital(text: str, *, keep: bool = False) -> str:
    """The text with a capital letter first, behind its marks."""
    if keep:
        return text
    for place, character in enumerate(text):
        if character.isalpha() and ord(character) < 0xE000:
            return text[:place] + character.upper() + text[place + 1 :]
        if not 0xE000 <= ord(character) < 0xF900:
            break
    return text

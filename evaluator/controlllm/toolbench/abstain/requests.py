"""The requests: 120 that plans can meet, and 40 of each kind that no plan can meet.

The solvable ones are toolmini's, with other things, files and scenes. Whether a request can be met must not show on
its surface: half of the requests of each kind have a remark that changes nothing (`wordings.py`), and some are given a
file that they do not speak of. All choices follow from the seed and the request's own place.
"""

import hashlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from evaluator.controlllm.toolbench.abstain import wordings
from evaluator.controlllm.toolbench.mini import words
from evaluator.controlllm.toolbench.mini.requests import GROUPS, PER_GROUP, request_of, toolmini_tasks
from evaluator.controlllm.toolbench.mini.sentences import Fill
from evaluator.controlllm.toolbench.released.raw import RawTask
from evaluator.controlllm.toolbench.terms import file_names

SEED = "toolmini-abstain/1"
PER_KIND = 40


class Need(StrEnum):
    """Whether a plan can meet a request, or what it lacks."""

    SOLVABLE = "solvable"
    MISSING_FILE = "missing_file"
    """A file that it speaks of is not given."""
    NO_TOOL = "no_tool"
    """No tool of the catalogue does what it wants."""
    CONTRADICTION = "contradiction"
    """One part of it excludes another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request of the suite."""

    key: str
    need: Need
    text: str
    """What planners are asked."""
    files: tuple[str, ...]
    """Names of the files that are given."""
    solvable: RawTask | None = None
    """The request without remarks, with its gold decomposition; None where no plan can meet it."""


_REMARKS = {
    Need.SOLVABLE: wordings.ABOUT_FILES + wordings.ABOUT_TOOLS + wordings.ABOUT_LIMITS,
    # A remark may not take back what makes a request impossible.
    Need.MISSING_FILE: wordings.ABOUT_TOOLS + wordings.ABOUT_LIMITS,
    Need.NO_TOOL: wordings.ABOUT_FILES + wordings.ABOUT_LIMITS,
    Need.CONTRADICTION: wordings.ABOUT_FILES + wordings.ABOUT_TOOLS,
}
_MISSING_FROM = (
    "image_detection", "video_classification", "image_QA", "image_classification", "image_segmentation",
    "image_processing", "image_editing", "count_object",
)  # fmt: skip
"""Groups of toolmini all of whose requests need a file."""


@cache
def abstain_requests() -> tuple[Request, ...]:
    """The public requests, always the same, in an order that tells nothing."""
    return _keyed(list(_requests(seed=SEED, taken=frozenset(task.instruction for task in toolmini_tasks()))))


def hidden_abstain_requests(*, seed: str) -> tuple[Request, ...]:
    """Requests with the keys and kinds of the public ones, about other things. None reads like a public one."""
    return _keyed(list(_requests(seed=seed, taken=frozenset(request.text for request in abstain_requests()))))


def _keyed(requests: Sequence[Request]) -> tuple[Request, ...]:
    """The requests under names that say nothing: shuffled, in the same way for every seed."""
    places = sorted(range(len(requests)), key=lambda place: hashlib.sha256(f"{SEED} {place}".encode()).digest())
    return tuple(
        Request(key=f"{number:03d}", need=one.need, text=one.text, files=one.files, solvable=one.solvable)
        for number, one in enumerate(requests[place] for place in places)
    )


def _requests(*, seed: str, taken: frozenset[str]) -> Iterator[Request]:
    made = set(taken)
    for place, (need, index) in enumerate(_places()):
        for tries in itertools.count():
            found = _made(need=need, index=index, fill=Fill(key=f"{need} {place}", seed=f"{seed} {tries}"))
            if found.text not in made:
                break
        made.add(found.text)
        yield found


def _places() -> Iterator[tuple[Need, int]]:
    for need in Need:
        count = PER_GROUP * len(GROUPS) if need is Need.SOLVABLE else PER_KIND
        yield from ((need, index) for index in range(count))


def _made(*, need: Need, index: int, fill: Fill) -> Request:
    if need is Need.SOLVABLE:
        group = list(GROUPS)[index // PER_GROUP]
        raw = request_of(group=group, index=index % PER_GROUP, seed=fill.seed)
        text = _remarked(raw.instruction, need=need, fill=fill)
        return Request(key="", need=need, text=text, files=_given(raw.instruction, fill=fill), solvable=raw)
    if need is Need.MISSING_FILE:
        return _without_file(index=index, fill=fill)
    wishes = wordings.NO_TOOL if need is Need.NO_TOOL else wordings.CONTRADICTIONS
    wish = _filled(wishes[index % len(wishes)], fill=fill)
    return Request(key="", need=need, text=_remarked(wish, need=need, fill=fill), files=_given(wish, fill=fill))


def _given(text: str, *, fill: Fill) -> tuple[str, ...]:
    """The files of a request, and sometimes one that it does not speak of."""
    names = file_names(text)
    more = fill.image(3)
    return (*names, more) if more not in names and fill.pick("another file", (True, False, False)) else names


def _without_file(*, index: int, fill: Fill) -> Request:
    """A request of toolmini whose first file is not given: without a word, by saying so, or for want of a name."""
    group = _MISSING_FROM[index // 5]
    plain = request_of(group=group, index=index % 5, seed=f"{fill.seed} missing").instruction
    missing, *others = file_names(plain)
    if index % 5 == 2:
        stand_ins = wordings.MISSING_VIDEOS if missing.endswith(".mp4") else wordings.MISSING_IMAGES
        text = _capitalised(plain.replace(missing, fill.pick("stand-in", stand_ins)))
    elif index % 5 == 4:
        said = fill.pick("not there", wordings.NOT_THERE).format(missing=missing)
        return Request(key="", need=Need.MISSING_FILE, text=_joined(plain, said, fill=fill), files=tuple(others))
    else:
        text = plain
        others += [fill.image(3)] if fill.pick("another file", (True, False)) else []
    text = _remarked(text, need=Need.MISSING_FILE, fill=fill)
    return Request(key="", need=Need.MISSING_FILE, text=text, files=tuple(name for name in others if name != missing))


def _remarked(text: str, *, need: Need, fill: Fill) -> str:
    if fill.pick("has a remark", (True, False)):
        return _joined(text, _filled(fill.pick("remark", _REMARKS[need]), fill=fill), fill=fill)
    return text


def _joined(text: str, remark: str, *, fill: Fill) -> str:
    return " ".join((remark, text) if fill.pick("remark first", (True, False)) else (text, remark))


def _filled(wording: str, *, fill: Fill) -> str:
    return wording.format(
        image=fill.image(), video=fill.video(), other=fill.image(7), thing=fill.thing, things=fill.things,
        category=fill.category, action=fill.action, scene=fill.scene, map=fill.map,
        question=fill.pick("question", words.QUESTIONS_ABOUT_IMAGES),
    )  # fmt: skip


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]

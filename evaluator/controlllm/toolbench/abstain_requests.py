"""The requests of `toolmini-abstain`: 120 that no plan can meet, 40 of each kind, among 120 that plans can meet.

The solvable ones are toolmini's, with other objects, files and scenes. The surface of a request must not reveal whether
it can be met: half of the requests of each kind have a remark that changes nothing, and some come with a file that they
do not mention. Slots of wordings are those of toolmini's sentences; {other} is an image that the request does not need.
All choices follow from the seed and the position of the request.
"""

import hashlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache

from evaluator.controlllm.toolbench.mini.requests import GROUPS, PER_GROUP, Fill, request_of, toolmini_tasks
from evaluator.controlllm.toolbench.released.files import RawTask
from evaluator.controlllm.toolbench.terms import file_names

NO_TOOL = (
    "Email {image} to my neighbour.",
    "Print {image} on paper and post it to my aunt.",
    "Make a 3D print of the {thing} in {image}.",
    "Call my office and read out how many {things} there are in {image}.",
    "Count the {things} in {image} and text the number to my phone.",
    "Order a {category} like the one in {image} from the nearest shop.",
    "Remove the {thing} from {image} and upload the result to my website.",
    "Erase the {thing} from {video}, please.",
    "Make the {map} map of every frame of {video}.",
    "Cut the first ten seconds off {video}.",
    "Slow {video} down to half its speed.",
    "Crop {video} to the {thing}.",
    "Turn {image} into a 3D model that I can walk around.",
    "Set an alarm on my phone for the moment at which {action} begins in {video}.",
    "Book me a course in {action} for next Saturday.",
    "Switch on my camera and take a picture of the {thing} on my desk.",
    "Delete {image} from my disk.",
    "Give me the masks of the {thing} in each frame of {video}.",
    "Pay for the {category} that {image} shows with my credit card.",
    "Switch off the lamp that {image} shows.",
)
"""Requests for which the catalogue has no tool: external effects, video editing, and 3D models."""

CONTRADICTIONS = (
    "Remove the {thing} from {image} and keep this {thing} visible in the same result.",
    "Cut out the {thing} from {image} so that nothing else is left and the {thing} is gone.",
    "Count the {things} in {image} and tell me the number; do not name a number.",
    "Highlight the {thing} in {image} in a copy that differs from {image} in no pixel.",
    "Crop {image} to the {thing}, with the whole {thing} outside the crop.",
    "I need the mask of the {thing} in {image} that covers the {thing} and no pixel of the {thing}.",
    "Make the {map} map of {image}, and make no map of it.",
    "Paint a new image that shows {scene}, with {scene} nowhere in it.",
    "Does anybody practise {action} in {video}? Answer with yes and with no, but not with both.",
    "Name all the objects that {image} shows in a list that names none of them.",
    "Erase the {thing} from {image} and leave {image} exactly as it was, in one and the same picture.",
    "I want {image} with exactly one {thing} and, in the same picture, with exactly three {things}.",
    "Keep only the {thing} of {image}, and all that surrounds it.",
    "Give me a detailed description of {image} that contains no words.",
    "Generate an image of {scene} that is black all over and white all over.",
    "Segment everything in {image}; the result may hold no segment.",
    "Which actions can be seen in {video}? Name each of them and none.",
    "Show me where the {thing} in {image} is, and hide from me where it is.",
    "Look at {image}. {question} Answer this, and leave it unanswered.",
    "Process {image} so that the {thing} in it becomes both larger and smaller.",
)
"""Requests with contradictory parts."""

MISSING_IMAGES = (
    "the picture that I attached", "the photograph in the attachment", "my latest photograph",
    "the image from my phone",
)  # fmt: skip
MISSING_VIDEOS = (
    "the video that I attached", "the film from my phone", "my latest video", "the clip in the attachment",
)  # fmt: skip
"""Phrases that replace the name of a file that is not given."""

NOT_THERE = (
    "I have not uploaded {missing} yet.",
    "{missing} was deleted from my disk this morning, and there is no copy.",
    "The upload of {missing} failed.",
    "You will get {missing} only next week.",
)
"""Sentences which say that the file of a request is missing."""

ABOUT_FILES = (
    "I have not uploaded {other} yet, but it is not needed.",
    "{other} was deleted from my disk this morning, which does not matter here.",
    "The upload of {other} failed; do without it.",
    "There is no attachment, and none is needed.",
    "You will get {other} only next week, for another purpose.",
    "My latest photograph has nothing to do with this.",
)
ABOUT_TOOLS = (
    "I will print the result on paper and post it to my aunt myself.",
    "My neighbour asked for this by email.",
    "No need to call my office or to text anybody.",
    "The 3D print is already done; this is something else.",
    "I can upload the result to my website on my own.",
    "Tomorrow I will order a {category} from the nearest shop.",
    "On Saturday I have a course in {action}, so please do it today.",
    "My camera is off, my phone as well, and neither is needed.",
)
ABOUT_LIMITS = (
    "Do this and nothing else.",
    "I wanted the opposite yesterday, but no longer.",
    "Leave all other pictures exactly as they are.",
    "It is not urgent, and yet I cannot wait all day.",
    "Do not ask me anything; there is no more to say.",
    "Both of us need it, and none of us has the time.",
)
"""Remarks that do not change the meaning of a request."""

SEED = "toolmini-abstain/1"
PER_KIND = 40


class Need(StrEnum):
    """Why no plan can meet a request, or `solvable`."""

    SOLVABLE = "solvable"
    MISSING_FILE = "missing_file"
    """A file that it mentions is not given."""
    NO_TOOL = "no_tool"
    """The catalogue has no tool for it."""
    CONTRADICTION = "contradiction"
    """One part of it excludes another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request of the suite."""

    key: str
    need: Need
    text: str
    files: tuple[str, ...]
    """Names of the given files."""
    solvable: RawTask | None = None
    """The request without remarks, with its gold decomposition; None if no plan can meet it."""
    other_words: str = ""
    """A paraphrase of a hidden request; empty if there is none."""


_REMARKS = {
    Need.SOLVABLE: ABOUT_FILES + ABOUT_TOOLS + ABOUT_LIMITS,
    # A remark must not withdraw what makes a request impossible.
    Need.MISSING_FILE: ABOUT_TOOLS + ABOUT_LIMITS,
    Need.NO_TOOL: ABOUT_FILES + ABOUT_LIMITS,
    Need.CONTRADICTION: ABOUT_FILES + ABOUT_TOOLS,
}
MISSING_FROM = (
    "image_detection", "video_classification", "image_QA", "image_classification", "image_segmentation",
    "image_processing", "image_editing", "count_object",
)  # fmt: skip
"""Groups of toolmini in which every request needs a file."""


@cache
def abstain_requests() -> tuple[Request, ...]:
    """The public requests, in an order that reveals nothing."""
    requests: list[Request] = []
    texts = {task.instruction for task in toolmini_tasks()}
    for place, (need, index) in enumerate(places()):
        fills = (Fill(key=f"{need} {place}", seed=f"{SEED} {tries}") for tries in itertools.count())
        drafts = (_draft(need=need, index=index, fill=fill) for fill in fills)
        requests.append(next(draft for draft in drafts if draft.text not in texts))
        texts.add(requests[-1].text)
    return in_order(requests)


def drawn_abstain_requests(*, count: int) -> Iterator[Request]:
    """About so many further requests of the public kinds and wordings, about other objects; their keys repeat."""
    for number in range(-(-count // len(places()))):
        drafts = (
            _draft(need=need, index=index, fill=Fill(key=f"{need} {place}", seed=f"{SEED} draw {number}"))
            for place, (need, index) in enumerate(places())
        )
        yield from in_order(list(drafts))


def places() -> tuple[tuple[Need, int], ...]:
    """The kind of the request of each place, and its index among those of its kind."""
    solvable = PER_GROUP * len(GROUPS)
    return tuple((need, index) for need in Need for index in range(solvable if need is Need.SOLVABLE else PER_KIND))


def order() -> tuple[int, ...]:
    """The places in the order of their keys: shuffled in the same way for every seed, so that keys reveal nothing."""
    return tuple(sorted(range(len(places())), key=lambda place: hashlib.sha256(f"{SEED} {place}".encode()).digest()))


def in_order(requests: Sequence[Request]) -> tuple[Request, ...]:
    """The requests of all places with their keys, in the order of these."""
    return tuple(replace(requests[place], key=f"{number:03d}") for number, place in enumerate(order()))


def _draft(*, need: Need, index: int, fill: Fill) -> Request:
    """A request without its key."""
    raw: RawTask | None = None
    if need is Need.SOLVABLE:
        group = list(GROUPS)[index // PER_GROUP]
        raw = request_of(group=group, index=index % PER_GROUP, seed=fill.seed)
        text = raw.instruction
    elif need is Need.MISSING_FILE:
        return _without_file(index=index, fill=fill)
    else:
        wordings = NO_TOOL if need is Need.NO_TOOL else CONTRADICTIONS
        text = _filled(wordings[index % len(wordings)], fill=fill)
    files, unrelated = file_names(text), fill.image(3)
    if unrelated not in files and fill.pick("another file", (True, False, False)):
        files = (*files, unrelated)
    return Request(key="", need=need, text=_remarked(text, need=need, fill=fill), files=files, solvable=raw)


def _without_file(*, index: int, fill: Fill) -> Request:
    """A toolmini request whose first file is not given: unmentioned, announced, or referred to without a name."""
    group = MISSING_FROM[index // 5]
    plain = request_of(group=group, index=index % 5, seed=f"{fill.seed} missing").instruction
    missing, *others = file_names(plain)
    if index % 5 == 2:
        stand_ins = MISSING_VIDEOS if missing.endswith(".mp4") else MISSING_IMAGES
        text = plain.replace(missing, fill.pick("stand-in", stand_ins))
        text = text[:1].upper() + text[1:]
    elif index % 5 == 4:
        remark = fill.pick("not there", NOT_THERE).format(missing=missing)
        return Request(key="", need=Need.MISSING_FILE, text=_joined(plain, remark, fill=fill), files=tuple(others))
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
    return wording.format(**{**fill.slots(), "other": fill.image(7)})

"""Hidden requests of `toolmini-abstain`: other sentences about other things that can, or cannot, be met.

A site shows what is lacking, the group, level, structure and types of files of each task, so these are the public ones
of its key. Everything else follows from the secret seed. What cannot be met is said in the same frames as what can.
"""

import itertools
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property

from evaluator.controlllm.toolbench.abstain_requests import (
    MISSING_FROM,
    Need,
    Request,
    abstain_requests,
    in_order,
    order,
    places,
)
from evaluator.controlllm.toolbench.mini.hidden import ACTS, PARAPHRASES, HiddenFill, drafts, facts_of, surroundings
from evaluator.controlllm.toolbench.released.files import RawTask
from evaluator.controlllm.toolbench.spoken.speech import FRAMES, Speech, Wish
from evaluator.controlllm.toolbench.terms import file_names, type_of_file
from evaluator.core.tools.types import ResourceType

_REMARKS = {
    Need.SOLVABLE: ("files", "tools", "limits"),
    # A remark must not withdraw what makes a request impossible.
    Need.MISSING_FILE: ("tools", "limits"),
    Need.NO_TOOL: ("files", "limits"),
    Need.CONTRADICTION: ("files", "tools"),
}
_IMPOSSIBLE = {
    Need.NO_TOOL: ("no_tool_image", "no_tool_image", "no_tool_image", "no_tool_video", "no_tool_nothing"),
    Need.CONTRADICTION: (
        "contradiction_image", "contradiction_image", "contradiction_image", "contradiction_video",
        "contradiction_nothing",
    ),
}  # fmt: skip
"""Acts of the requests without a tool, and of those with contradictory parts."""
_MISSING = 7
_UNMENTIONED = 6
"""Numbers of files in the names of a request's files."""


@cache
def _types() -> Mapping[int, frozenset[ResourceType]]:
    """The types of the files that the public request of each place gives."""
    public = abstain_requests()
    return {place: _types_of(public[number]) for number, place in enumerate(order())}


def _types_of(request: Request) -> frozenset[ResourceType]:
    given = frozenset(map(type_of_file, request.files))
    return given if request.solvable is None else given | facts_of(request.solvable).types


@cache
def _solvable() -> Mapping[int, RawTask]:
    """The public solvable requests by place."""
    public = abstain_requests()
    return {place: raw for number, place in enumerate(order()) if (raw := public[number].solvable) is not None}


def hidden_abstain_requests(*, seed: str) -> tuple[Request, ...]:
    """Requests with the keys and kinds of the public ones, about other objects.

    Texts are distinct, and no sentence of them is one of the public requests. Deterministic for a seed.
    """
    speech, texts = Speech(seed, PARAPHRASES), set[str]()
    requests: list[Request] = []
    for place, (need, index) in enumerate(places()):
        drawn = (
            _Draft(need=need, index=index, place=place, seed=f"{seed} {tries}", speech=speech).request()
            for tries in itertools.count()
        )
        requests.append(next(one for one in drawn if one.text not in texts and _types_of(one) == _types()[place]))
        texts.add(requests[-1].text)
    return in_order(requests)


@dataclass(frozen=True)
class _Draft:
    """One try to make a request."""

    need: Need
    index: int
    place: int
    seed: str
    speech: Speech

    @property
    def key(self) -> str:
        return f"{self.need} {self.place}"

    @cached_property
    def rng(self) -> random.Random:
        # Not a secret: the seed is.
        return random.Random(f"{self.seed} {self.key}")  # noqa: S311

    @cached_property
    def fill(self) -> HiddenFill:
        return HiddenFill(key=self.key, seed=self.seed, words=self.speech.words)

    def request(self) -> Request:
        """The request, without its key."""
        if self.need is Need.SOLVABLE:
            facts = facts_of(_solvable()[self.place])
            raw = next(drafts(facts, key=self.key, seed=self.seed, speech=self.speech))
            # The remark is no part of the goal.
            return self._remarked(raw.instruction, raw.other_words, files=file_names(raw.instruction), solvable=raw)
        if self.need is Need.MISSING_FILE:
            return self._without_file()
        wish = Wish(act=self.rng.choice(_IMPOSSIBLE[self.need]), slots=self.fill.slots())
        text, other = self._told(wish)
        return self._remarked(text, other, files=file_names(text))

    def _told(self, wish: Wish, *, by_name: bool = False) -> tuple[str, str]:
        """A wish in two ways."""
        around = surroundings([wish], key=self.key, seed=self.seed, speech=self.speech, rng=self.rng, by_name=by_name)
        text, other = (self.speech.request([wish], speaking=around) for _ in range(2))
        return text, other

    def _without_file(self) -> Request:
        """A wish whose file is not given: unmentioned, announced, or referred to without a name."""
        group, way = MISSING_FROM[self.index // 5], self.index % 5
        act = self.rng.choice(ACTS[group])
        wish = Wish(act=act, slots=self.fill.slots())
        missing = wish.slots[wish.files[0]]
        told = self._told(wish, by_name=way == 2)
        others = tuple(name for name in file_names(told[0]) if name != missing)
        if way == 2:
            stand_ins = FRAMES["remarks"]["missing_videos" if "video" in wish.files else "missing_images"]
            stand_in = self.rng.choice(self.speech.some(stand_ins, of=f"missing {wish.files[0]}"))
            told = tuple(_begun(text.replace(missing, stand_in)) for text in told)  # type: ignore[assignment]
        elif way == 4:
            said = self.rng.choice(self.speech.some(FRAMES["remarks"]["not_there"], of="not there"))
            told = tuple(self._beside(text, said.format(missing=missing)) for text in told)  # type: ignore[assignment]
            return Request(key="", need=self.need, text=told[0], other_words=told[1], files=others)
        return self._remarked(*told, files=others)

    def _remarked(self, text: str, other: str, *, files: tuple[str, ...], solvable: RawTask | None = None) -> Request:
        if self.rng.random() < 0.35:
            files = (*files, replace(self.fill, number=_UNMENTIONED).image())
        if self.rng.random() < 0.5:
            kind = self.rng.choice(_REMARKS[self.need])
            slots = {**self.fill.slots(), "other": replace(self.fill, number=_MISSING).image()}
            remark = self.rng.choice(self.speech.some(FRAMES["remarks"][kind], of=f"remarks {kind}")).format(**slots)
            text, other = self._beside(text, remark), self._beside(other, remark)
        return Request(
            key="", need=self.need, text=text, other_words=other, files=tuple(sorted(files)), solvable=solvable
        )

    def _beside(self, text: str, remark: str) -> str:
        return " ".join((remark, text) if self.rng.random() < 0.5 else (text, remark))


def _begun(text: str) -> str:
    return text[:1].upper() + text[1:]

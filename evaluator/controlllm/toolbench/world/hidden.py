"""Hidden requests of `toolworld`: other sentences, and other combinations of wishes.

A site shows the group, level, structure, metric, kinds of results and types of files of each task, so these are the
public ones of its key. Everything else follows from the secret seed.
"""

import itertools
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from evaluator.controlllm.toolbench.mini.hidden import MOST_WISHES, HiddenFill
from evaluator.controlllm.toolbench.mini.requests import unused
from evaluator.controlllm.toolbench.released.files import RawTask, level_of_plan
from evaluator.controlllm.toolbench.spoken.speech import VIDEOS, WISHES, Speaking, Speech, Wish, by_act, distinct
from evaluator.controlllm.toolbench.world.contents import Demand, Given, Material
from evaluator.controlllm.toolbench.world.requests import (
    ACTS,
    GROUPS,
    GUIDES,
    MAPS,
    ClashError,
    Draft,
    Request,
    checked_demands,
    public_requests,
)
from evaluator.core.tools.types import ResourceType
from evaluator.miniature.tableaux.clips import Motion
from evaluator.miniature.vocabulary import Colour, Shape

_SPOKEN = {
    "describe": "describe_shortly",
    "generate": "generate_sentence",
    "follow_given": "follow_given_sentence",
    "follow_made": "follow_made_sentence",
    "ask_colour": "asked_of_scene",
    "ask_shape": "asked_of_scene",
    "ask_number": "asked_of_scene",
    "ask_background": "asked_of_scene",
}
"""Names of acts in `wishes.toml` where they differ."""
_MOST_EQUAL = 2
"""Most wishes of one kind in a request for several results."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a site shows of a task, whatever it asks on the hidden split."""

    group: str
    level: str
    metrics: tuple[str, ...]
    """Of the only result; empty if there are several."""
    results: frozenset[str]
    types: frozenset[ResourceType]


def facts_of(request: Request) -> Facts:
    """The facts of a request."""
    wanted = request.wanted
    assert request.raw.level is not None
    return Facts(
        group=request.raw.group,
        level=request.raw.level,
        metrics=(wanted[0].metric,) if len(wanted) == 1 else (),
        results=frozenset(str(one.kind) for one in wanted),
        types=frozenset(given.type for given in request.given),
    )


@cache
def _public() -> Mapping[str, tuple[Request, Facts]]:
    return {request.raw.key: (request, facts_of(request)) for request in public_requests()}


@cache
def _acts_like(facts: Facts) -> tuple[str, ...]:
    """Acts of the public requests with these facts; those of requests for one result."""
    return tuple(dict.fromkeys(request.acts[0] for request, own in _public().values() if own == facts))


@cache
def _paraphrases() -> Mapping[str, Sequence[str]]:
    """Paraphrases of public sentences, which no public request has, by act in `wishes.toml`."""
    return by_act((_spoken(act), sentence) for act, sentence in unused(GROUPS))


def hidden_requests(*, seed: str) -> tuple[Request, ...]:
    """Requests with the keys and facts of the public ones, about other objects and files.

    Their texts are distinct, and no sentence of them is one of the public requests. Deterministic for a seed.
    """
    speech, texts = Speech(seed, _paraphrases()), set[str]()
    requests: list[Request] = []
    for key, (public, facts) in _public().items():
        requests.append(
            next(
                request
                for tries in itertools.count()
                if (request := _request(public, facts=facts, key=key, seed=f"{seed} {tries}", speech=speech))
                is not None
                and request.raw.instruction not in texts
            )
        )
        texts.add(requests[-1].raw.instruction)
    return tuple(requests)


def _request(public: Request, *, facts: Facts, key: str, seed: str, speech: Speech) -> Request | None:
    """One try to make a request; None if it would have other facts."""
    # Not a secret: the seed is.
    rng = random.Random(f"{seed} {key}")  # noqa: S311
    acts = [rng.choice(_acts_like(facts))] if facts.metrics else _several(public.acts, rng=rng)
    if len(acts) > MOST_WISHES:
        return None
    draft = Draft()
    fills = _fills(acts, key=key, seed=seed, speech=speech, rng=rng)
    try:
        plain = [draft.write([act, WISHES[_spoken(act)]["plain"]], fill) for act, fill in zip(acts, fills, strict=True)]
        checked_demands(draft.given.values())
    except ClashError:
        return None
    wishes = [
        Wish(act=_spoken(act), slots={slot: text for slot, text in slots.items() if text})
        for act, slots in zip(acts, draft.slots, strict=True)
    ]
    if not distinct(map(str, draft.wanted)):
        return None
    speaking = _speaking(wishes, draft=draft, fill=replace(fills[0], number=len(acts)), rng=rng)
    told, other = (speech.request(wishes, speaking=speaking) for _ in range(2))
    raw = RawTask(
        key=key,
        group=facts.group,
        instruction=told,
        output=draft.gold.text(),
        level=level_of_plan(draft.gold.calls),
        plain=" ".join(plain),
        other_words=other,
    )
    given = tuple(sorted(draft.given.values(), key=lambda file: file.name))
    request = Request(raw=raw, given=given, wanted=tuple(draft.wanted), acts=tuple(acts))
    return request if facts_of(request) == facts else None


def _spoken(act: str) -> str:
    want, _, origin = act.partition(" of ")
    if origin:
        return f"{want}_of_{'text' if origin in ('story', 'review') else origin}"
    act = act.partition(":")[0]
    return _SPOKEN.get(act, act)


def _several(acts: Sequence[str], *, rng: random.Random) -> list[str]:
    """Acts with the kinds of results of others, in other numbers and another order, and with other maps."""
    chosen = [act for act in dict.fromkeys(acts) for _ in range(rng.randint(1, _MOST_EQUAL))]
    rng.shuffle(chosen)
    return [_varied(act, rng=rng) for act in chosen]


def _varied(act: str, *, rng: random.Random) -> str:
    name, _, kind = act.partition(":")
    if kind:
        return f"{name}:{rng.choice(MAPS if name == 'make_map' else GUIDES)}"
    return f"ask_{rng.choice(('colour', 'shape', 'number', 'background'))}" if name.startswith("ask_") else act


def _shows(act: str) -> str:
    """What the file of an act shows, if several wishes may be about it; else an empty text."""
    name, _, kind = act.partition(":")
    if kind == "pose" or name not in ACTS or name == "remove_masked":
        return ""
    shows: str = ACTS[name].get("shows", "scene" if name.startswith("ask_") else "")
    return shows if shows in ("things", "scene") else ""


def _fills(acts: Sequence[str], *, key: str, seed: str, speech: Speech, rng: random.Random) -> list[HiddenFill]:
    """The texts of each wish; wishes about files of one kind may be about the same one."""
    owners: dict[str, int] = {}
    fills = []
    for number, act in enumerate(acts):
        shows = _shows(act)
        owner = owners.get(shows) if rng.random() < 0.5 else None
        if shows and owner is None:
            owners[shows] = number
        fills.append(HiddenFill(key=key, number=number, files_of=owner, seed=seed, words=speech.words))
    return fills


def _speaking(wishes: Sequence[Wish], *, draft: Draft, fill: HiddenFill, rng: random.Random) -> Speaking:
    """What surrounds the wishes; gives the draft a file that no wish needs, if the request names one."""
    taken = {demand.name for given in draft.given.values() for demand in given.demands}
    names = [demand.name for colour in Colour for shape in Shape if (demand := Demand(colour=colour, shape=shape))]
    motions = [str(motion) for motion in Motion if not any(motion == wish.slots.get("motion") for wish in wishes)]
    strangers = [
        {
            "thing": name,
            "things": f"{name}es" if name.endswith("s") else f"{name}s",
            "action": rng.choice(motions),
            "map": rng.choice(MAPS),
        }
        for name in rng.sample([name for name in names if name not in taken], 8)
    ]
    idle = ""
    media = {"video" if slot in VIDEOS else "image" for wish in wishes for slot in wish.files}
    if media and rng.random() < 0.3:
        is_clip = "video" in media
        idle = fill.video(3) if is_clip else fill.image(3)
        facts: dict[str, Any] = {"type": ResourceType.VIDEO, "material": Material.CLIP} if is_clip else {
            "type": ResourceType.IMAGE, "material": Material.SCENE,
        }  # fmt: skip
        draft.given[idle] = Given(name=idle, **facts)
    return Speaking(rng=rng, strangers=strangers, idle=idle, in_order=True)

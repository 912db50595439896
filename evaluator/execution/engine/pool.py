"""In-memory pool of experts: loaded on demand, evicted only to stay within the memory budget."""

import logging
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from evaluator.core.expert import Expert, ExpertSpec
from evaluator.execution.experts.devices import DeviceMemory, card_memory, device_class, is_out_of_memory
from evaluator.execution.experts.profile import Profile, load_expert

logger = logging.getLogger(__name__)
SHARE_OF_FREE = 0.7
"""Of a card's free memory, for loaded experts. Batches need the rest while they run."""


class Experts(Protocol):
    """The experts of tools, as the engine uses them."""

    def spec(self, tool: str) -> ExpertSpec:
        """The profile's entry for a tool, with the batch size for the device; LookupError if there is none."""
        ...

    def expert(self, tool: str, *, batch_size: int | None = None) -> Expert:
        """The loaded expert for a tool, by default at the profile's batch size; a `SamplingExpert` if its entry says
        so."""
        ...

    def is_loaded(self, tool: str) -> bool:
        """Whether `expert` returns without loading."""
        ...

    def unload_others(self, tool: str) -> bool:
        """Unload all experts except that of `tool`; False if no other was loaded."""
        ...

    @property
    def device_class(self) -> Mapping[str, str]:
        """The properties of the device that affect results."""
        ...


@runtime_checkable
class Batching(Protocol):
    """An expert that computes in batches of one size, which may change after loading."""

    batch_size: int


@dataclass(frozen=True, slots=True)
class _Resident:
    expert: Expert
    batch_size: int
    size: int
    """In bytes."""


class ExpertPool:
    """Keeps the experts of one profile loaded across shards, within a memory budget.

    The budget covers loaded experts: on CUDA as measured by the allocator, so that networks that experts share count
    once, elsewhere `nbytes` of the expert or the size of its weight files. It excludes the working memory of batches.
    The least recently used expert is evicted first; an expert larger than the budget is loaded alone.
    """

    def __init__(
        self,
        *,
        profile: Profile,
        device: str = "cpu",
        budget: int | None = None,
        load: Callable[..., Expert] = load_expert,
        memory: DeviceMemory | None = None,
    ) -> None:
        """Args:
        profile: the experts.
        device: torch device.
        budget: limit of loaded experts in bytes. None: on CUDA, `SHARE_OF_FREE` of the memory that is free before the
            first load; no limit elsewhere.
        load: loads an expert from `spec` and `device`.
        memory: memory of the device.
        """
        self.profile = profile
        self.device = device
        self.loads: Counter[str] = Counter()
        """Number of loads of each tool's expert."""
        self._budget = budget
        self._is_budget_known = budget is not None
        self._memory = memory or DeviceMemory(device)
        self._occupied = 0
        """Bytes of loaded experts."""
        self._load_expert = load
        self._loaded: OrderedDict[str, _Resident] = OrderedDict()
        """By tool, most recently used last."""
        self._sizes: dict[str, int] = {}
        """By tool, as measured at the last load."""
        self._specs: dict[str, ExpertSpec] = {}
        """By tool, with the batch sizes for the device."""

    def spec(self, tool: str) -> ExpertSpec:
        if tool in self._specs:
            return self._specs[tool]
        try:
            spec = self._specs[tool] = for_device(self.profile.experts[tool], device=self.device)
        except KeyError:
            raise LookupError(f"profile {self.profile.name} has no expert for {tool}") from None
        return spec

    def is_loaded(self, tool: str) -> bool:
        return tool in self._loaded

    def expert(self, tool: str, *, batch_size: int | None = None) -> Expert:
        """The loaded expert for a tool. Experts pad batches to a fixed size, their `batch_size`, which is set here; one
        without it is loaded again for another size."""
        spec = self.spec(tool)
        size = batch_size or spec.batch_size
        resident = self._loaded.get(tool)
        if resident is not None and resident.batch_size != size and isinstance(resident.expert, Batching):
            resident.expert.batch_size = size
            resident = replace(resident, batch_size=size)
        elif resident is None or resident.batch_size != size:
            self._drop(tool)
            resident = self._load(spec=replace(spec, batch_size=size))
        self._loaded[tool] = resident
        self._loaded.move_to_end(tool)
        return resident.expert

    def unload_others(self, tool: str) -> bool:
        others = [other for other in self._loaded if other != tool]
        for other in others:
            self._drop(other)
        self._memory.release()
        return bool(others)

    @property
    def device_class(self) -> Mapping[str, str]:
        return device_class(self.device)

    @property
    def resident(self) -> tuple[str, ...]:
        """The tools of loaded experts, most recently used last."""
        return tuple(self._loaded)

    def _load(self, *, spec: ExpertSpec) -> _Resident:
        if not self._is_budget_known:
            free = self._memory.free()
            self._budget, self._is_budget_known = None if free is None else int(SHARE_OF_FREE * free), True
        self._make_room(size=self._sizes.get(spec.tool) or _weights_size(spec))
        before = self._memory.allocated()
        try:
            expert = self._load_expert(spec=spec, device=self.device)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error) or not self._loaded:
                raise
            expert = None
        if expert is None:
            # Other programs use the device too, so less than the budget may be available.
            logger.warning("no memory for %s: all other experts are unloaded", spec.id)
            self._make_room(size=None)
            before = self._memory.allocated()
            expert = self._load_expert(spec=spec, device=self.device)
        self.loads[spec.tool] += 1
        after, reported = self._memory.allocated(), getattr(expert, "nbytes", None)
        if before is not None and after is not None:
            size = max(after - before, 0)
        else:
            size = reported if isinstance(reported, int) else _weights_size(spec)
        # With a shared network it is less than the expert needs alone.
        self._sizes[spec.tool] = max(size, self._sizes.get(spec.tool, 0))
        self._make_room(size=size)
        self._occupied += size
        return _Resident(expert=expert, batch_size=spec.batch_size, size=size)

    def _make_room(self, *, size: int | None) -> None:
        """Unload the least recently used experts until `size` more bytes fit into the budget; all experts if None."""
        if size is not None and self._budget is None:
            return
        while self._loaded and (size is None or not self._fits(size)):
            self._drop(next(iter(self._loaded)))
        if size is not None and not self._fits(size):
            logger.warning("an expert of %d bytes is larger than the budget of %s bytes", size, self._budget)

    def _fits(self, size: int) -> bool:
        return self._budget is None or self._occupied + size <= self._budget

    def _drop(self, tool: str) -> None:
        resident = self._loaded.pop(tool, None)
        if resident is None:
            return
        size, before = resident.size, self._memory.allocated()
        del resident
        self._memory.release()
        after = self._memory.allocated()
        # What another expert shares stays.
        freed = size if before is None or after is None else max(before - after, 0)
        # What batches allocated for later ones is freed, too.
        self._occupied = max(self._occupied - freed, 0) if self._loaded else 0


def for_device(spec: ExpertSpec, *, device: str) -> ExpertSpec:
    """A profile's entry with the batch sizes for a torch device."""
    # An entry without sizes for cards needs no look at the card.
    sized = bool(spec.batch_sizes) or any(used.batch_sizes for used in spec.uses)
    return (spec.on_card(card_memory(device)) if sized else spec).on(device)


def _weights_size(spec: ExpertSpec) -> int:
    own = sum(path.stat().st_size for path in spec.path.rglob("*.safetensors"))
    base = sum(path.stat().st_size for path in spec.base.rglob("*.safetensors")) if spec.base else 0
    return own + base + sum(_weights_size(used) for used in spec.uses)

"""In-memory pool of experts: loaded when first needed, evicted only to keep within the memory budget."""

import logging
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from evaluator.core.expert import Expert, ExpertSpec
from evaluator.execution.experts.devices import allocated_bytes, device_class, is_out_of_memory, release_memory
from evaluator.execution.experts.profile import Profile, load_expert

logger = logging.getLogger(__name__)


class Experts(Protocol):
    """Where the engine finds the expert of a tool."""

    def spec(self, tool: str) -> ExpertSpec:
        """The profile's line for a tool; LookupError if there is none."""
        ...

    def expert(self, tool: str, *, batch_size: int | None = None) -> Expert:
        """The loaded expert for a tool, at another batch size than the profile's if one is given.

        If the tool's line says that it samples, the expert is a `SamplingExpert`.
        """
        ...

    def is_loaded(self, tool: str) -> bool:
        """Whether `expert` would answer at once."""
        ...

    def unload_others(self, tool: str) -> bool:
        """Unload every expert except that of `tool`; False if none was loaded."""
        ...

    @property
    def device_class(self) -> Mapping[str, str]:
        """What the bytes that experts compute depend on, besides the expert and its inputs."""
        ...


@dataclass(frozen=True, slots=True)
class _Resident:
    expert: Expert
    batch_size: int
    size: int
    """Bytes of memory."""


class ExpertPool:
    """Keeps the experts of one profile loaded across shards, within a budget of memory if one is given.

    The budget counts what loaded experts occupy: on CUDA as the allocator measures it, elsewhere `nbytes` of the
    expert if it has that, else the size of its files of weights. What a batch needs while it runs comes on top. The
    expert that was not used for the longest time leaves first; one that is larger than the budget is loaded alone.
    """

    def __init__(
        self,
        *,
        profile: Profile,
        device: str = "cpu",
        budget: int | None = None,
        load: Callable[..., Expert] = load_expert,
    ) -> None:
        """Args:
        profile: the experts.
        device: torch device.
        budget: bytes that loaded experts may occupy together; None: no limit.
        load: makes an expert from `spec` and `device`.
        """
        self.profile = profile
        self.device = device
        self.loads: Counter[str] = Counter()
        """How often the expert of each tool was loaded."""
        self._budget = budget
        self._load_expert = load
        self._loaded: OrderedDict[str, _Resident] = OrderedDict()
        """By tool, the one used last at the end."""
        self._sizes: dict[str, int] = {}
        """By tool, as measured when it was loaded."""

    def spec(self, tool: str) -> ExpertSpec:
        """The profile's line for a tool.

        Raises:
            LookupError: the profile has no expert for it.
        """
        try:
            return self.profile.experts[tool]
        except KeyError:
            raise LookupError(f"profile {self.profile.name} has no expert for {tool}") from None

    def is_loaded(self, tool: str) -> bool:
        """Whether `expert` would answer at once."""
        return tool in self._loaded

    def expert(self, tool: str, *, batch_size: int | None = None) -> Expert:
        """The loaded expert for a tool.

        An expert pads its batches to the size it was built for, so another batch size means loading it again.
        """
        spec = self.spec(tool)
        wanted = batch_size or spec.batch_size
        resident = self._loaded.get(tool)
        if resident is None or resident.batch_size != wanted:
            self._drop(tool)
            resident = self._load(spec=replace(spec, batch_size=wanted))
        self._loaded[tool] = resident
        self._loaded.move_to_end(tool)
        return resident.expert

    def unload_others(self, tool: str) -> bool:
        """Unload every expert except that of `tool`, to make room for a batch; False if none was loaded."""
        others = [other for other in self._loaded if other != tool]
        for other in others:
            del self._loaded[other]
        release_memory(self.device)
        return bool(others)

    @property
    def device_class(self) -> Mapping[str, str]:
        return device_class(self.device)

    @property
    def resident(self) -> tuple[str, ...]:
        """The tools whose experts are loaded, the one used last at the end."""
        return tuple(self._loaded)

    def _load(self, *, spec: ExpertSpec) -> _Resident:
        self._make_room(size=self._sizes.get(spec.tool) or _weights_size(spec))
        before = allocated_bytes(self.device)
        try:
            expert = self._load_expert(spec=spec, device=self.device)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error) or not self._loaded:
                raise
            expert = None
        if expert is None:
            # Other programs use the device too: what is there may be less than the budget says.
            logger.warning("no memory for %s: all other experts are unloaded", spec.id)
            self._make_room(size=None)
            before = allocated_bytes(self.device)
            expert = self._load_expert(spec=spec, device=self.device)
        self.loads[spec.tool] += 1
        size = self._sizes[spec.tool] = _measured(expert=expert, spec=spec, before=before, device=self.device)
        self._make_room(size=size)
        return _Resident(expert=expert, batch_size=spec.batch_size, size=size)

    def _make_room(self, *, size: int | None) -> None:
        """Unload the experts used longest ago until `size` more bytes fit into the budget; all of them for None."""
        if size is not None and self._budget is None:
            return
        while self._loaded and (size is None or not self._fits(size)):
            self._drop(next(iter(self._loaded)))
        if size is not None and not self._fits(size):
            logger.warning("an expert of %d bytes is larger than the budget of %s bytes", size, self._budget)

    def _fits(self, size: int) -> bool:
        occupied = sum(resident.size for resident in self._loaded.values())
        return self._budget is None or occupied + size <= self._budget

    def _drop(self, tool: str) -> None:
        if self._loaded.pop(tool, None) is not None:
            release_memory(self.device)


def _weights_size(spec: ExpertSpec) -> int:
    own = sum(path.stat().st_size for path in spec.path.rglob("*.safetensors"))
    base = sum(path.stat().st_size for path in spec.base.rglob("*.safetensors")) if spec.base else 0
    return own + base + sum(_weights_size(used) for used in spec.uses)


def _measured(*, expert: Expert, spec: ExpertSpec, before: int | None, device: str) -> int:
    after = allocated_bytes(device)
    if before is not None and after is not None:
        return max(after - before, 0)
    reported = getattr(expert, "nbytes", None)
    return reported if isinstance(reported, int) else _weights_size(spec)

"""A stand-in for the allocator of a card."""

import weakref

from torch import nn

from evaluator.execution.experts.devices import DeviceMemory
from evaluator.execution.experts.profile import load_expert


class Counting(DeviceMemory):
    """Says that so many bytes are allocated and free."""

    def __init__(self, *, allocated=0, free=None):
        super().__init__("cpu")
        self.bytes, self.room = allocated, free

    def allocated(self):
        return self.bytes

    def free(self):
        return self.room


class Card(DeviceMemory):
    """A card of `room` bytes, which holds the networks of real experts, each once, and the batch that one of them runs.

    Experts are loaded by `load`; a batch takes `working` bytes. What does not fit is out of memory.
    """

    def __init__(self, room, *, working=0):
        super().__init__("cpu")
        self.room, self.working, self.peak = room, working, 0
        self.refused = 0
        self._experts = weakref.WeakSet()

    def allocated(self):
        found = {}
        for expert in self._experts:
            for network in networks_of(expert):
                found |= {id(value): value.nbytes for value in (*network.parameters(), *network.buffers())}
        return sum(found.values())

    def free(self):
        return self.room - self.allocated()

    def take(self, size):
        used = self.allocated() + size
        if used > self.room:
            self.refused += 1
            raise MemoryError
        self.peak = max(self.peak, used)

    def load(self, *, spec, device):
        expert = load_expert(spec=spec, device=device)
        self._experts.add(expert)
        try:
            self.take(0)
        except MemoryError:
            self._experts.discard(expert)
            raise
        for name in {"run", "run_seeded"} & set(dir(expert)):
            setattr(expert, name, Working(weakref.proxy(self), type(expert), name, weakref.ref(expert)))
        return expert


class Working:
    """A method of an expert that needs memory while it runs."""

    def __init__(self, card, kind, name, expert):
        self.card, self.kind, self.name, self.expert = card, kind, name, expert

    def __call__(self, *arguments, **named):
        self.card.take(self.card.working)
        return getattr(self.kind, self.name)(self.expert(), *arguments, **named)


def networks_of(value, seen=None):
    """The networks of an expert, of its pipeline and of experts that it uses."""
    seen = set() if seen is None else seen
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, nn.Module):
        yield value
    elif hasattr(value, "components"):
        for part in value.components.values():
            yield from networks_of(part, seen)
    elif type(value).__module__.startswith("evaluator."):
        for part in vars(value).values() if hasattr(value, "__dict__") else ():
            yield from networks_of(part, seen)

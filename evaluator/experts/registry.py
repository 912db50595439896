"""The registry of expert implementations: `@expert("name")` on a class or factory."""

from collections.abc import Callable
from typing import TypeVar

from evaluator.experts.protocol import ExpertFactory

Factory = TypeVar("Factory", bound=ExpertFactory)

_FACTORIES: dict[str, ExpertFactory] = {}


def expert(name: str) -> Callable[[Factory], Factory]:
    """Register an expert implementation under the name that profiles use.

    Raises:
        ValueError: the name is taken.
    """

    def register(factory: Factory) -> Factory:
        if name in _FACTORIES:
            raise ValueError(f"two expert implementations are called {name!r}")
        _FACTORIES[name] = factory
        return factory

    return register


def factory_of(name: str) -> ExpertFactory:
    """The factory registered under `name`.

    Raises:
        LookupError: there is none; the message lists those there are.
    """
    try:
        return _FACTORIES[name]
    except KeyError:
        raise LookupError(f"no expert implementation {name!r}; there are: {', '.join(sorted(_FACTORIES))}") from None

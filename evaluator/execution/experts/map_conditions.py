"""How a network for maps of several kinds learns which kind it gets: each kind has channels of its own."""

from collections.abc import Sequence

from torch import Tensor

from evaluator.miniature.tableaux.maps import MapKind

CHANNELS = 3 * len(MapKind)


def conditions_of(*, maps: Tensor, kinds: Sequence[MapKind]) -> Tensor:
    """The conditioning pictures for some maps.

    Args:
        maps: in [0, 1], shape (batch, 3, height, width).
        kinds: of each map.

    Returns:
        Values in [-1, 1], shape (batch, 24, height, width). The channels of other kinds are 0 everywhere, which no map
        is: even a black one is -1.
    """
    pictures = maps.new_zeros((len(maps), CHANNELS, *maps.shape[2:]))
    order = list(MapKind)
    for row, kind in enumerate(kinds):
        first = 3 * order.index(kind)
        pictures[row, first : first + 3] = 2 * maps[row] - 1
    return pictures

"""What is computed once for each scene and needed at many steps, in one block of memory."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt


class Rows:
    """One row of numbers for each scene of a bank, computed when it is first asked for.

    Kept as small arrays of their own, rows would lie scattered between the large blocks that training steps take and
    return; the heap could not be reused and grew by megabytes with every step.
    """

    def __init__(self, *, count: int, compute: Callable[[npt.NDArray[np.int64]], np.ndarray]) -> None:
        """`compute` makes the rows of some indices, stacked; all rows have one shape and type."""
        self._compute = compute
        self._done = np.zeros(count, dtype=np.bool_)
        self._values: np.ndarray | None = None

    def take(self, indices: npt.NDArray[np.int64]) -> np.ndarray:
        """The rows of some indices, stacked."""
        new = np.unique(indices[~self._done[indices]])
        if len(new) or self._values is None:
            rows = self._compute(new)
            if self._values is None:
                self._values = np.zeros((len(self._done), *rows.shape[1:]), dtype=rows.dtype)
            self._values[new] = rows
            self._done[new] = True
        return np.asarray(self._values[indices])

"""The order of the rows of a matrix in which similar rows are neighbours: average linkage, leaves from low to high.

Agglomerative clustering by nearest-neighbour chains (Murtagh, A Survey of Recent Advances in Hierarchical Clustering
Algorithms, 1983) in O(n^2) time and memory for n different rows. SciPy has the same; a site does not install it.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]
MOST_CLUSTERED = 3000
"""Different rows up to which they are clustered: distances of 36 MB. More are rounded first, and sorted at last."""


def similar_order(matrix: Matrix) -> list[int]:
    """Places of the rows in an order in which similar rows are neighbours, rows with low means first.

    Args:
        matrix: (rows, columns); NaN, where a value is missing, counts as the row's mean.

    Returns:
        A permutation of the rows' places, the same for the same matrix. Equal rows keep their order.
    """
    if len(matrix) < 2:
        return list(range(len(matrix)))
    filled = _filled(matrix)
    distinct, members = _distinct(filled)
    means = distinct.mean(axis=1)
    if len(distinct) > MOST_CLUSTERED:
        order = np.argsort(means, kind="stable").tolist()
    else:
        weights = [float(len(found)) for found in members]
        order = _leaves(merges=_merges(distinct, weights=weights), means=means.tolist(), weights=weights)
    return [place for leaf in order for place in members[leaf]]


def _filled(matrix: Matrix) -> Matrix:
    known = ~np.isnan(matrix)
    counts = known.sum(axis=1)
    sums = np.where(known, matrix, 0.0).sum(axis=1)
    means = np.divide(sums, counts, out=np.zeros(len(matrix)), where=counts > 0)
    return np.where(known, matrix, means[:, None]).astype(np.float32)


def _distinct(matrix: Matrix) -> tuple[Matrix, list[list[int]]]:
    """The different rows, and the places of each; rounded to hundredths, then to tenths, while there are too many."""
    found, inverse = np.unique(matrix, axis=0, return_inverse=True)
    for decimals in (2, 1):
        if len(found) <= MOST_CLUSTERED:
            break
        found, inverse = np.unique(np.round(matrix, decimals), axis=0, return_inverse=True)
    members: list[list[int]] = [[] for _ in found]
    for place, row in enumerate(inverse.reshape(-1).tolist()):
        members[row].append(place)
    return found, members


def _merges(rows: Matrix, *, weights: Sequence[float]) -> list[tuple[int, int]]:
    """Pairs of clusters as they are merged; cluster `len(rows) + n` is that of the n-th pair.

    Rows of a chain lead each to its nearest neighbour; the distance between clusters is the mean over their members.
    """
    count = len(rows)
    distances = _distances(rows)
    sizes = np.array(weights)
    names = list(range(count))
    alive = np.ones(count, dtype=bool)
    chain: list[int] = []
    merged: list[tuple[int, int]] = []
    while len(merged) < count - 1:
        if not chain:
            chain.append(int(np.argmax(alive)))
        last = chain[-1]
        near = int(np.argmin(distances[last]))
        if len(chain) > 1 and distances[last, chain[-2]] <= distances[last, near]:
            near = chain[-2]
        if len(chain) < 2 or near != chain[-2]:
            chain.append(near)
            continue
        del chain[-2:]
        _join(distances, kept=near, gone=last, sizes=sizes, alive=alive)
        merged.append((names[near], names[last]))
        names[near] = count + len(merged) - 1
    return merged


def _distances(rows: Matrix) -> Matrix:
    """(rows, rows) squared Euclidean distances; infinite on the diagonal, so that nothing is its own neighbour."""
    squares = np.einsum("ij,ij->i", rows, rows)
    found: Matrix = squares[:, None] + squares[None, :] - 2 * (rows @ rows.T)
    np.maximum(found, 0.0, out=found)
    np.fill_diagonal(found, np.inf)
    return found


def _join(distances: Matrix, *, kept: int, gone: int, sizes: NDArray[np.float64], alive: NDArray[np.bool_]) -> None:
    total = sizes[kept] + sizes[gone]
    joined = (sizes[kept] * distances[kept] + sizes[gone] * distances[gone]) / total
    distances[kept] = distances[:, kept] = joined
    distances[gone] = distances[:, gone] = np.inf
    distances[kept, kept] = np.inf
    sizes[kept], alive[gone] = total, False


def _leaves(*, merges: Sequence[tuple[int, int]], means: Sequence[float], weights: Sequence[float]) -> list[int]:
    """The rows from left to right, the part with the lower mean first at each merge."""
    mean, size = list(means), list(weights)
    leaves: list[list[int]] = [[leaf] for leaf in range(len(means))]
    for one, other in merges:
        low, high = sorted((one, other), key=lambda part: (mean[part], leaves[part][0]))
        total = size[low] + size[high]
        mean.append((mean[low] * size[low] + mean[high] * size[high]) / total)
        size.append(total)
        leaves.append(leaves[low] + leaves[high])
        leaves[low], leaves[high] = [], []
    return leaves[-1]

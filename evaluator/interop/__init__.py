"""Neighbours: runs of other harnesses to import, results to export, and our suites in their harnesses.

Formats are read and written as JSON. Only the modules of `harnesses` import a neighbour's package, each its own; the
tests of `tests/evaluator/interop` run all of them (docs/interop.md).
"""

__all__: list[str] = []

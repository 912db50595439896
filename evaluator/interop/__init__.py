"""Neighbours' formats: runs of other harnesses to import, results to export. Each adapter has a module of its own.

Nothing here imports a neighbour's package: formats are read and written as JSON, and the tests of
`tests/evaluator/interop` check them with the packages themselves (docs/interop.md).
"""

__all__: list[str] = []

"""Enumerates programs over helpers, the simplest first, and keeps those that fit all demonstrations.

- `functions`: the functions that programs are composed of; `menu`: those that are tried, with their options
- `terms`: compositions, their text as programs, and their values on all demonstrations, with a count of the work
- `searching`: the search itself, and maps from labels of cells to colours, learnt from the demonstrations
"""

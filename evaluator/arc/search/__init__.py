"""Enumerates programs over helpers, the simplest first, and keeps those that fit all demonstrations.

- `functions`: what programs are composed of; `menu`: which of them are tried, with which options
- `terms`: compositions, their text as programs, and their values on all demonstrations, with a count of the work
- `searching`: the order of it all, and maps from labels of cells to colours, learnt from the demonstrations
"""

"""Enumerates programs over helpers, the simplest first, and keeps those that fit all demonstrations.

- `grids`, `objects`, `labels`: the functions that programs are composed of
- `menu`: which of them are tried, with which options
- `bench`: applies them to all demonstrations at once and counts the work
- `terms`: compositions, and their text as programs
- `tables`: maps from labels of cells to colours, learnt from the demonstrations
- `searching`: the order of it all
"""

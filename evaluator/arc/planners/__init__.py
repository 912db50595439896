"""Planners for tasks that give demonstrations of a transformation of grids, and work without a model.

- `planners`: `identity`, whose outputs are the inputs, and `arc-search`
- `search`: the enumeration of programs over helpers behind `arc-search`
"""

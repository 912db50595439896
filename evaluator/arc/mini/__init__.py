"""The suite `arc-mini`: tasks of twelve families of transformations, drawn from a seed.

- `rules`: base classes of rules and families; `families`: one module each
- `cells`, `canvas`: regions of grids, and drawing of inputs
- `draws`: tasks of each split, whose demonstrations determine one answer; `suite`: the suite
"""

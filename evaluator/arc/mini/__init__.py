"""The suite `arc-mini`: tasks of twelve families of transformations, drawn from a seed.

- `rules`: what a rule and a family are; `families`: one module each
- `cells`, `canvas`, `dice`: regions of grids, and how inputs are drawn
- `determined`: whether demonstrations leave one answer
- `draws`: tasks of each split; `suite`: the suite
"""

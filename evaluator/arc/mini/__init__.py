"""The suite `arc-mini`: tasks of twelve families of transformations, drawn from a seed.

- `rules`: what a rule and a family are; `families`: one module each
- `cells`, `canvas`: regions of grids, and how inputs are drawn
- `draws`: tasks of each split, whose demonstrations leave one answer; `suite`: the suite
"""

"""How the shipped weights were made: the experts of the miniature world, and lilliput-planner.

Nothing outside this package imports it, except the commands that start a training run.

- `experts`: the models of the miniature world; `planners`: lilliput-planner and its comparison
- `loop`: the resumable training loop; `history`: the record of a run; `export`: weights, configurations and lock file

Nothing is imported here: all of it needs torch.
"""

__all__: list[str] = []

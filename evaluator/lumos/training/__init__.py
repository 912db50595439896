"""Training LUMOS's modules and baselines of Lilliput size: `planarena train lumos`.

- `conversations`: LUMOS's training data as prompts and replies
- `tokens`: the same as numbers
- `training`: from random weights to a folder
- `study`: the paper's comparison, over several seeds
- `shipping`, `command`: what comes with PlanArena, and the command

Nothing is imported here: most of it needs torch.
"""

__all__: list[str] = []

"""Training utilities shared by the papers and the miniature world's experts.

- `loop`: the resumable training loop; `runs`: settings and history of runs
- `export`: weights, configurations, tokenizers and lock file; folders of planners
- `causal`: small causal networks with random weights
- `lessons`: lessons and their files; `tuning`, `lora`, `tuning_card`: tuning of a given model, and its card
- `options`: the options of commands that tune a given model

Imports no submodules, because they need torch.
"""

__all__: list[str] = []

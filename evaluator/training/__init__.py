"""Training utilities shared by the papers and the miniature world's experts.

- `loop`: the resumable training loop; `runs`: settings and history of runs
- `export`: weights, configurations, tokenizers and lock file; folders of planners
- `causal`: small causal networks

Imports no submodules, because they need torch.
"""

__all__: list[str] = []

"""The kit for training that the papers and the miniature world's experts share.

Only training and the commands that start it import it.

- `loop`: the resumable training loop; `runs`: going on only from one's own, and the record of a run
- `export`: weights, configurations, tokenizers and lock file; folders of planners
- `causal`: small causal networks

Nothing is imported here: all of it needs torch.
"""

__all__: list[str] = []

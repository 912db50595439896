"""The kit for training that the papers and the miniature world's experts share.

Only training and the commands that start it import it.

- `loop`: the resumable training loop; `history`: the record of a run; `runs`: going on only from one's own
- `export`: weights, configurations and lock file; `checkpoints`: folders of planners
- `special_tokens`: tokens and files of tokenizers; `t5`: first weights; `causal`: small causal networks

Nothing is imported here: all of it needs torch.
"""

__all__: list[str] = []

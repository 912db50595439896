"""Training ARC's program writer of Lilliput size: `planarena arc convert`, `train` and `compare`.

- `lessons`: tasks of arc-mini's training split as prompts in each view with gold programs, and wrong programs with the
  feedback on them
- `training`: its tokens and objective; from random weights to a folder
- `comparison`: the paper's comparison, over several seeds

Nothing is imported here: most of it needs torch.
"""

__all__: list[str] = []

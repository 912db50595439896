"""Training ARC's program writer of Lilliput size: `planarena arc convert`, `train` and `compare`.

- `conversion`: tasks of arc-mini's training split as prompts in each view with gold programs; `mistakes`: wrong
  programs with the feedback on them
- `tokens`, `lessons`: the same as numbers
- `training`: from random weights to a folder
- `variants`, `measuring`, `table`: the paper's comparison, over several seeds
- `command`: what the commands do

Nothing is imported here: most of it needs torch.
"""

__all__: list[str] = []

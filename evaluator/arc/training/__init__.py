"""Training ARC's program writer of Lilliput size: `planarena arc convert`, `train` and `compare`.

- `lessons`: tasks of arc-mini's training split as prompts in each view with gold programs, and wrong programs with
  feedback
- `training`: tokenizer, objective, and training to an exported folder
- `comparison`: the paper's comparison, over several seeds

Imports no submodules, because most need torch.
"""

__all__: list[str] = []

"""Training LUMOS's modules and baselines of Lilliput size: `planarena lumos train`.

- `training`: reading of conversations, tokenizer, and training to an exported folder
- `variants`, `study`: the paper's comparison, over several seeds
- `command`: the commands

Imports no submodules, because most need torch.
"""

__all__: list[str] = []

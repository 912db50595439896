"""Training of the miniature world's models.

- `data`: rendered scenes, corpora, tokenizers, and degraded pictures as restoration experts meet them
- `restoration`, `recognition`, `language`, ...: the objective of each kind of model
- `recipes`: sizes and schedule of each model; `run`: trains one model and writes its weights
- `quality`: figures on held-out data, and the model cards that report them

Nothing is imported here: all of it needs torch.
"""

__all__: list[str] = []

"""Training of the miniature world's models.

- `bank`: rendered scenes; `states`: how restoration experts meet them
- `restoration`, `recognition`, `language`: what each kind of model is trained for
- `loop`: the resumable loop; `recipes`: each model's sizes and schedule; `run`: from an order to weights
- `export`, `cards`, `quality`: weights, cards, held-out figures

Nothing is imported here: all of it needs torch.
"""

__all__: list[str] = []

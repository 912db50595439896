"""Training of the miniature world's models.

- `recipes`: the table of models, `recipes.toml`, and the training of a model
- `restoration`, `recognition`, `language_models`, ..., `tableaux`: architecture, objective and export of each model
- `data`: rendered scenes, corpora and tokenizers
- `quality`: figures on held-out data, and the model cards that report them

Nothing is imported here: all modules need torch.
"""

__all__: list[str] = []

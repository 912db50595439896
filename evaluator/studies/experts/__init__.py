"""Training of the miniature world's models.

- `recipes`: the table of the models, `recipes.toml`, and the training of one of them
- `restoration`, `recognition`, `language_models`, ..., `tableaux`: architecture, objective and files of each model
- `data`: rendered scenes, corpora and tokenizers
- `quality`: figures on held-out data, and the model cards that report them

Nothing is imported here: all of it needs torch.
"""

__all__: list[str] = []

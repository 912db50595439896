"""What pretraining reads: `paraphrases` of `wishes` in the words of the `phrasebook`, solved by `annotators`."""

__all__: list[str] = []

"""The corpus of pretraining: `paraphrases` of `sampled_requests` by the `phrasebook`, solved by `annotators`."""

__all__: list[str] = []

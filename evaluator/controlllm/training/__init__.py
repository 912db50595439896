"""Training the networks of `controlllm/trained`: `planarena train controlllm`.

- `wording`, `vocabulary`, `phrasebook`, `frames`, `questions`: how requests are worded
- `drafting`, `acts`, `corpus`: requests with their decompositions
- `tokens`, `lessons`, `training`: the decomposer
- `scoring_corpus`, `scoring`: the scorer
- `measuring`, `shipping`, `command`: held-out quality, cards, the command

Nothing is imported here: most of it needs torch.
"""

__all__: list[str] = []

"""Trains the networks of `controlllm/trained`: `planarena train controlllm`.

- `corpus.toml`, `wording`: wordings of requests
- `drafting`, `corpus`: requests with their decompositions
- `decomposer`, `scorer`: lessons and training of the networks
- `command`: held-out quality, cards, the command

This package imports nothing: most of its modules need torch.
"""

__all__: list[str] = []

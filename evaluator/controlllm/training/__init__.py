"""Training the networks of `controlllm/trained`: `planarena train controlllm`.

- `corpus.toml`, `wording`: how requests are worded
- `drafting`, `corpus`: requests with their decompositions
- `decomposer`, `scorer`: lessons and training of the networks
- `command`: held-out quality, cards, the command

Nothing is imported here: most of it needs torch.
"""

__all__: list[str] = []

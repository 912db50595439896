"""Training data: `bank` (rendered scenes), `states` (degraded pictures), `corpus` and `tokenizers` (text), `rows`."""

__all__: list[str] = []

"""Training data: `bank` (rendered scenes), `corpus` and `tokenizers` (texts)."""

__all__: list[str] = []

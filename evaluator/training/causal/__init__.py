"""Training small causal networks on conversations: what LUMOS's modules and ARC's writer have in common.

- `exchanges`: prompts with their replies; `lessons`: the same as rows of tokens
- `networks`: a Llama of about a million parameters
- `comparing`: scores of variants with several seeds

Nothing is imported here: most of it needs torch.
"""

__all__: list[str] = []

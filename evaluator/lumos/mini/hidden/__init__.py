"""The hidden split's own grammar: no sentence, name or structure of it occurs on the other splits.

- `grammar`: the part of it that a season speaks
- `problems`, `databases`, `chronicles`, `requests`, `scenes`: tasks of the five groups
"""

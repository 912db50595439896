"""Rules of the hidden split: those of the families composed with changes of the whole grid that no family has.

- `changes`: the changes, each with its inverse
- `composed`: a rule before or after a change, and families of these
"""

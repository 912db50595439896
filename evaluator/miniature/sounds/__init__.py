"""Sounds of the miniature world: speech from phonemes, music from a grammar, and what else can be heard."""

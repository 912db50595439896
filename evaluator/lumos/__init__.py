"""LUMOS (Yin et al., 2024): suites in turns, strategies and training."""

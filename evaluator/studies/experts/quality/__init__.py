"""Quality of trained models on held-out data: `measure` runs all, `texts` and `vision` by tool, `cards` reports it."""

__all__: list[str] = []

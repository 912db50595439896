"""Quality of trained models on held-out data: `measure` runs all measurements, `cards` reports them."""

__all__: list[str] = []

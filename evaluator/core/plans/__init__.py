"""Plans: their model, their checks, and the literals and envelopes of their texts."""

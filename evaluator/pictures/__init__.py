"""Classical operations on pictures: arrays in, arrays out, no model."""

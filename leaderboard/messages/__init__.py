"""Messages to the outside, written with the change that they tell of, and sent after it."""

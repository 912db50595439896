"""Studies of the library: validity, benchmarks, and the training of the miniature world's experts."""

"""Language models on this machine: loading, batches, decoding and scoring. Needs torch."""

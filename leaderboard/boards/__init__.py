"""Rankings: their rules, snapshots, exports and plots."""

"""Pages, exports and plots of the boards."""

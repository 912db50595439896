"""What readers take along from an evaluation: its rank, a citation, a badge, its results, and the whole run."""

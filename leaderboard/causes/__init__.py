"""Why tasks are below the gold score: found again when gold changes, and counted for boards."""

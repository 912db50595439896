"""Results of tasks: intake, storage, provenance, usage, and the filters of task lists."""

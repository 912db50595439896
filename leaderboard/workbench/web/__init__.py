"""Pages, API and workers' calls of the workbench."""

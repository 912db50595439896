"""Work that one process of the installation does at a time."""

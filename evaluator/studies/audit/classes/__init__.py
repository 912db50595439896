"""The classes of flaws, a module each, with a `FLAW`."""

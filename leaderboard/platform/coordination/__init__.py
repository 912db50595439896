"""Coordination of the site's processes: shared cache, locks, slots and leases."""

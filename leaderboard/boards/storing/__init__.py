"""How the contents of snapshots are stored: the newest of each board whole, older ones as differences."""

"""How much of the site one user may take in a day: a ledger with refunds."""

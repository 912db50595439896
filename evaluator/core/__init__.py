"""What everything else shares: plans, tools, suites, values, records, contracts; the kit for commands."""

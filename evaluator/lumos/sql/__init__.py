"""InterCode's SQL tasks (`intercode-sql`): files, databases, execution of a planner's statements, reward."""

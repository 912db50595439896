"""InterCode's SQL tasks (`intercode-sql`): files, databases, execution of statements, and the reward."""

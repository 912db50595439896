"""Why a task is below the gold score: findings of a closed taxonomy, decided by rules from the result record."""

"""What the board must say: where executing on SQLite differs from InterCode's MySQL server."""

ENGINE_NOTE = """\
Statements are executed on SQLite, translated from MySQL. Of the 1,028 gold queries that MariaDB 10.11 executes, 967
give the same rows in the same order here, 41 the same rows in another order (37 of them without ORDER BY, 4 with ties),
and 20 depend on the engine's choice: ties at a LIMIT, or columns that the groups do not determine.

The same as in MySQL:

- Texts compare without case, accents and spaces at the end (utf8mb4_general_ci); LIKE ignores the case of ASCII
  letters.
- `/` gives a real number, and NULL for a division by zero.
- A text compared with a number counts as the number that it begins with; a text compared with a date counts as a date.
- ROUND rounds halves away from zero; functions of dates and texts have MySQL's meaning.

Different from MySQL:

- AVG, SUM of reals and `/` give double precision, not decimals of 4 digits; DECIMAL and FLOAT columns hold doubles.
- SUM and COUNT give integers of the same type, so `SUM(1)` equals `COUNT(*)`; in InterCode they differ.
- Columns that the groups do not determine are allowed; MySQL's default refuses them. So are derived tables without a
  name, the table `show`, `COUNT (*)`, and aliases in WHERE.
- Rows without ORDER BY, and ties of ORDER BY, come in SQLite's order.
- LIKE distinguishes accented letters from plain ones. Texts that functions compute compare by code points in GROUP BY,
  DISTINCT and ORDER BY.
- The time is fixed at 2023-04-28 07:04:13, and RAND gives the same numbers each time.
- Not available: statements that change anything, SET and variables, USE and other databases, information_schema,
  REGEXP, JSON, ROLLUP, full-text search, shifts of bits, column lists of derived tables, window functions of STDDEV and
  GROUP_CONCAT.
"""

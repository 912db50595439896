"""`python -m evaluator`: the library's command line."""

from evaluator.cli import main

main()

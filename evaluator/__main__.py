"""`python -m evaluator`: the library's command line."""

from evaluator.cli.main import main

main()

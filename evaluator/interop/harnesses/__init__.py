"""The suites in other harnesses, which ask the model. Everything is read, executed and scored here.

- `hosted_suite`: requests of a suite, episodes in turns as tool calls, scores of what the model wrote
- `inspect_tasks`, `verifiers_taskset`, `lm_eval_tasks`: a harness each. Only they import its package.

The harnesses find them by the top-level module `planarena`.
"""

__all__: list[str] = []

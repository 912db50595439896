"""Runs of other harnesses: their plans, usage, model and conditions. Their scores are ignored.

- `run`: what is imported, and its document `import/1`
- `bounded_files`: files, folders and zips of strangers, with limits
- `reading`: recognises the format
- `inspect_logs`, `harbor_jobs`, `verifiers_traces`, `plans_files`: a format each
"""

__all__: list[str] = []

"""As `greedy_process`, for many requests: `evaluator.sandbox.limited_process.Server` calls it."""

from evaluator.sandbox.limited_process import serve_many
from tests.fakes.greedy_process import take

if __name__ == "__main__":
    serve_many(take)

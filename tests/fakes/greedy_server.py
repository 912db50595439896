"""As `greedy_process`, for many requests: `evaluator.limited_process.Server` calls it."""

from evaluator.limited_process import serve_many
from tests.fakes.greedy_process import take

if __name__ == "__main__":
    serve_many(take)

"""Language models behind one protocol: local checkpoints, chat endpoints, and a scripted one.

Imports nothing: some modules need torch, which the name of a model must not load.

- `evaluator.core.language_model`: the protocol: calls, answers, failures
- `choosing`: models by name
- `evaluator.sandbox.admission`: checks a submitted model before anything loads it
- `local`: checkpoints on this machine; `fetching`: from a hub; `network`: a model with its tokenizer and prompts
- `generation`, `scoring`: batches of calls
- `automaton`: a constraint as data
- `spelling`: the trie of the names that a constraint allows; `constrained`: decoding by it, and its probabilities
- `chat`: OpenAI-compatible endpoints; `congestion`: how many calls at once; `trial_server`: an endpoint for trials
- `scripted`: answers from a function or a file
"""


class ModelError(Exception):
    """A language model is not available. The message is a sentence for the user who named it."""


class ModelUnusableError(ModelError):
    """A language model cannot be used on any machine: a later attempt would fail as well."""

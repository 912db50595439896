"""Language models behind one protocol: local checkpoints, chat endpoints, and a scripted one.

Nothing is imported here: some modules need torch, and a name alone must not load it.

- `evaluator.core.language_model`: calls, answers, failures; what a model is
- `choosing`: models by name; `errors`: why there is none
- `evaluator.sandbox.admission`: what a submitted model must be like, checked before anything loads it
- `local`: checkpoints on this machine; `fetching`: from a hub; `network`: a model with its tokenizer and prompts
- `batching`: which calls are answered together; `generation`, `sampling`, `scoring`: how; `continuous`: on a GPU
- `automaton`: a constraint as data
- `spelling`: the trie of the names that a constraint allows; `constrained`: decoding by it, and its probabilities
- `chat`: OpenAI-compatible endpoints; `congestion`: how many calls at once; `trial_server`: an endpoint for trials
- `scripted`: answers from a function or a file
"""

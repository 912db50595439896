"""What stands around a plan in replies of language models."""

import json
from collections.abc import Callable, Mapping

ENVELOPES: Mapping[str, Callable[[str], object]] = {
    "json fence": "```json\n{}\n```".format,
    "fence": "```\n{}\n```".format,
    "unclosed fence": "```plan\n{}".format,
    "fence in prose": "Here is the plan:\n```json\n{}\n```\nLet me know!".format,
    "tildes": "~~~\n{}\n~~~".format,
    "prose": "Here is the plan:\n{}".format,
    "prose without a colon": "Sure, this should do it\n{}".format,
    "thought": "<think>Perhaps [{{}}]? No: (a, b).</think>\n{}".format,
    "thought and fence": "<think>\nno\n</think>\n\n```json\n{}\n```".format,
    "thought whose beginning the template wrote": "some reasoning without a beginning </think> {}".format,
    "special token": "{}<|im_end|>".format,
    "answer tags": "<answer>\n{}\n</answer>".format,
    "channels": "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>{}<|end|>".format,
    "byte order mark and CRLF": lambda text: "\ufeff" + text.replace("\n", "\r\n") + "\r\n",
}
"""By name, the text with the envelope."""
MESSAGES: Mapping[str, Callable[[str], object]] = {
    "message": lambda text: {"role": "assistant", "content": text},
    "response": lambda text: {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}}]},
    "text of a response": lambda text: json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}]}),
}
"""By name, the reply of a service with the text."""

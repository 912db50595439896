"""A dialogue with the chain: requests that use results of earlier ones, by name or as "it".

A request gets the files and results that it names. One that names none and refers back ("now crop it", "the result")
gets the latest result, or all results of the latest turn if it refers to several ("count them"). Any other request gets
the files with which the dialogue began, as if it were the first.
"""

import re
from collections.abc import Sequence

from evaluator.controlllm.chain.conversation import Finished
from evaluator.controlllm.chain.requests import FileError, GivenFile, plain_request
from evaluator.controlllm.chain.running import ChainRequest, ChainRunner
from evaluator.execution.engine.run import Engine
from evaluator.execution.experts.profile import Profile

_BACK = re.compile(
    r"\b(?:it|its"
    r"|(?:that|this)(?=\W*$|[,.;!?]|\s+(?:in|into|to|as|with|for|and|so|then|too|again|please)\b)"
    r"|(?:the|that|this) (?:last |new |latest |previous )?"
    r"(?:result|picture|image|photo|video|clip|text|caption|map|mask|version|crop|cut-?out|one))\b",
    re.IGNORECASE,
)
_SEVERAL = re.compile(
    r"\b(?:them|these|those|both|(?:the|all|these|those) (?:\w+ )?(?:results|pictures|images|maps|masks|ones))\b",
    re.IGNORECASE,
)
_WITHOUT_ENDING = re.compile(r"(?<![\w./-])result-\d+-\d+(?![-\w]|\.\w)", re.IGNORECASE)
_LONGEST = 10_000
"""Most characters of a request."""


class Dialogue:
    """Requests in turns. Not thread-safe."""

    def __init__(self, *, runner: ChainRunner, engine: Engine, profile: Profile, files: Sequence[GivenFile]) -> None:
        """Args:
        runner: serves each request.
        engine: holds the values of results.
        profile: the experts.
        files: the files with which it begins.

        Raises:
            FileError: a file has the name of a result.
        """
        self._runner, self._engine, self._profile = runner, engine, profile
        self._given = tuple(files)
        self._results: list[tuple[GivenFile, ...]] = []
        """Of each turn."""
        taken = next((file.name for file in files if re.fullmatch(r"result-\d+-\d+\.\w+", file.name)), None)
        if taken is not None:
            raise FileError(f"the name {taken!r} is that of a result; give the file another one, as NAME={taken}")

    def say(self, text: str, *, correcting: bool = True) -> tuple[ChainRequest, Finished]:
        """Serve the next request. A turn without results leaves those of earlier turns the latest.

        Args:
            text: its words.
            correcting: False runs the plan once, unchanged.

        Raises:
            ValueError: it has no words or too many, or names a file that neither was given nor is a result.
            LanguageModelError: the language model failed.
        """
        if len(text) > _LONGEST:
            raise ValueError(f"the request has {len(text)} characters; at most {_LONGEST} are read")
        turn = len(self._results) + 1
        request = plain_request(text=text, files=self._meant(text), profile=self._profile, turn=turn)
        end = self._runner.run(request, correcting=correcting)
        self._results.append(
            tuple(
                GivenFile(name=name, type=entry.type, value=self._engine.value(entry.artefact))
                for name, entry in end.results.items()
            )
        )
        return request, end

    def _meant(self, text: str) -> Sequence[GivenFile]:
        known = [*self._given, *(file for results in self._results for file in results)]
        if named := [file for file in known if _names(text, file=file.name)]:
            return named
        if unknown := _WITHOUT_ENDING.search(text):
            there_are = ", ".join(file.name for results in self._results for file in results) or "none so far"
            raise ValueError(f"{unknown[0]!r} is no name of a result, which has an ending; there are: {there_are}")
        latest = next((results for results in reversed(self._results) if results), ())
        if latest and _SEVERAL.search(text):
            return latest
        return latest[-1:] if latest and _BACK.search(text) else self._given


def _names(text: str, *, file: str) -> bool:
    return re.search(rf"(?<![\w./-]){re.escape(file)}(?![\w-])", text) is not None

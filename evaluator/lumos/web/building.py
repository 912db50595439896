"""Builds the suite's file from the released files of Mind2Web (Deng et al., 2023; CC BY 4.0).

They are lists of tasks, with the page and the elements of every step. The ranks of the elements are in a separate file.
The released `scores_all_data.pkl` is a pickle, which can run code and is not read; convert its `ranks` to JSON,
`{"<annotation_id>_<action_uid>": {"<backend_node_id>": rank}}`, where 0 is the best.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from evaluator.lumos.web.steps import OPERATIONS, POOL, Step, StepFileError, Walk, write_walk

LONGEST = 60
"""Maximum length of an element's description."""
_DESCRIPTIVE = ("aria_label", "aria-label", "title", "placeholder", "alt", "name", "value", "type", "role", "id")
_VOID = frozenset({"area", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"})


def build(*, pages: Path, ranks: Path, target: Path, report: Callable[[str], None] = lambda _: None) -> int:
    """Write the suite's file atomically.

    Args:
        pages: folder with the released `*.json` of one or more test splits.
        ranks: file of the elements' ranks.
        target: the suite's file.
        report: called with a message for each file.

    Returns:
        The number of tasks.

    Raises:
        StepFileError: a file does not have the released form.
    """
    files = sorted(pages.glob("*.json"))
    if not files:
        raise StepFileError(f"{pages} has no JSON files")
    known = _json(ranks)
    if not isinstance(known, dict):
        raise StepFileError(f"{ranks} holds no object of ranks")
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_suffix(".part")
    count = 0
    with partial.open("w", encoding="utf-8") as out:
        for file in files:
            for walk in _walks(file, ranks=known):
                out.write(write_walk(walk))
                count += 1
            report(f"{file}: {count} tasks")
    partial.replace(target)
    return count


def _walks(file: Path, *, ranks: Mapping[str, Any]) -> Iterator[Walk]:
    tasks = _json(file)
    if not isinstance(tasks, list):
        raise StepFileError(f"{file} holds no list of tasks")
    for place, task in enumerate(tasks):
        try:
            yield walk_of(task, ranks=ranks)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise StepFileError(f"{file}: task {place} has another form ({type(error).__name__}: {error})") from None


def walk_of(task: Mapping[str, Any], *, ranks: Mapping[str, Any]) -> Walk:
    """A released task with the best elements of each step."""
    name = str(task["annotation_id"])
    recorded = task["action_reprs"]
    steps = []
    for place, action in enumerate(task["actions"]):
        step_ranks = ranks.get(f"{name}_{action['action_uid']}")
        if not isinstance(step_ranks, Mapping):
            raise ValueError(f"the file of ranks lacks {name}_{action['action_uid']}")
        steps.append(_step(action, recorded=str(recorded[place]), ranks=step_ranks))
    return Walk(
        key=name, text=str(task["confirmed_task"]).strip(), website=str(task["website"]), domain=str(task["domain"]),
        steps=tuple(steps),
    )  # fmt: skip


def _step(action: Mapping[str, Any], *, recorded: str, ranks: Mapping[str, Any]) -> Step:
    operation = str(action["operation"]["op"]).upper()
    if operation not in OPERATIONS:
        raise ValueError(f"there is no operation {operation!r}; there are {', '.join(OPERATIONS)}")
    positive = {str(candidate["backend_node_id"]) for candidate in action["pos_candidates"]}
    candidates = [*action["pos_candidates"], *action["neg_candidates"]]
    by_node = {str(candidate["backend_node_id"]): candidate for candidate in candidates}
    # Ties are in the order of the page, so that the right element is not always first.
    best = sorted((node for node in by_node if node in ranks), key=lambda node: (float(ranks[node]), int(node)))[:POOL]
    texts = texts_of(str(action["cleaned_html"]), nodes=best)
    return Step(
        operation=operation, value=str(action["operation"].get("value") or ""), recorded=recorded,
        elements=tuple(_words(by_node[node], text=texts.get(node, "")) for node in best),
        right=tuple(place for place, node in enumerate(best) if node in positive),
    )  # fmt: skip


def _words(candidate: Mapping[str, Any], *, text: str) -> str:
    """The tag and the text or a descriptive attribute, such as `button "Search"`."""
    attributes = candidate.get("attributes")
    values = json.loads(attributes) if isinstance(attributes, str) else attributes or {}
    names = (str(values[name]) for name in _DESCRIPTIVE if values.get(name))
    label = " ".join((text or next(names, "")).split())
    label = label if len(label) <= LONGEST else label[: LONGEST - 1] + "…"
    return f'{candidate["tag"]} "{label}"' if label else str(candidate["tag"])


def texts_of(html: str, *, nodes: Iterable[str]) -> Mapping[str, str]:
    """The text inside elements of a page, by their `backend_node_id`."""
    parser = _Texts(frozenset(nodes))
    parser.feed(html)
    parser.close()
    return {node: " ".join(parts) for node, parts in parser.texts.items()}


class _Texts(HTMLParser):
    def __init__(self, nodes: frozenset[str]) -> None:
        super().__init__()
        self.texts: dict[str, list[str]] = {}
        self._nodes = nodes
        self._open: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _VOID:
            self._open.append((tag, dict(attrs).get("backend_node_id") or ""))

    def handle_endtag(self, tag: str) -> None:
        while self._open and any(name == tag for name, _ in self._open):
            if self._open.pop()[0] == tag:
                return

    def handle_data(self, data: str) -> None:
        text = data.strip()
        for _, node in self._open if text else ():
            if node in self._nodes:
                self.texts.setdefault(node, []).append(text)


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise StepFileError(f"{path} cannot be read: {error}") from error

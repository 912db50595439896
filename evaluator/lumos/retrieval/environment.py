"""The tools `KnowledgeQuery` and `ParagraphRetrieve` over a closed corpus, and the description of `QA`."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from evaluator.core.tools.types import ResourceType, Tool
from evaluator.core.transcripts import ActionProblem
from evaluator.episodes.turns.environment import Call, Made, Outcome, Refused, ToolFault
from evaluator.lumos.retrieval.articles import Article, Corpus, RankingError
from evaluator.replies.turns.actions import read_actions
from evaluator.replies.turns.binding import BindingError, Parameter, bind_arguments
from evaluator.replies.turns.model import TurnSyntaxError, substitute

KNOWLEDGE, PARAGRAPHS, ANSWER = "KnowledgeQuery", "ParagraphRetrieve", "QA"
_TEXT = ResourceType.TEXT


def retrieval_tools(*, paragraphs: int) -> tuple[Tool, ...]:
    """The three tools.

    Args:
        paragraphs: number of results of `ParagraphRetrieve`.
    """
    best = "the paragraph that fits" if paragraphs == 1 else f"the {paragraphs} paragraphs that fit"
    return (
        _tool(
            KNOWLEDGE, "Finds the article about an entity. A second result, if one is named, is the article's title.",
            inputs=("entity",), outputs=("knowledge", "title"),
        ),
        _tool(
            PARAGRAPHS, f"Returns {best} a query best, out of an article that KnowledgeQuery found.",
            inputs=("knowledge", "query"), outputs=("paragraphs",),
        ),
        _tool(
            ANSWER, "Answers a question from a text, with words of the text.", inputs=("context", "question"),
            outputs=("answer",),
        ),
    )  # fmt: skip


def _tool(name: str, description: str, *, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> Tool:
    return Tool(
        name=name, domain="questions", description=description, inputs=MappingProxyType(dict.fromkeys(inputs, _TEXT)),
        outputs=MappingProxyType(dict.fromkeys(outputs, _TEXT)),
    )  # fmt: skip


class UnboundError(ValueError):
    """The arguments of an action do not fit its tool; the message is a sentence."""


def bound(call: Call, *, parameters: Sequence[Parameter]) -> Mapping[str, str]:
    """The arguments of an action by parameter, with references replaced by values, without the brackets of a list.

    Raises:
        UnboundError: the arguments do not fit the tool.
    """
    try:
        (action,) = read_actions(text=f"R1 = {call.tool}({call.arguments})", tools=(call.tool,)).actions
        arguments = bind_arguments(action=action, parameters=parameters)
    except (TurnSyntaxError, BindingError, ValueError) as error:
        raise UnboundError(f"The arguments of {call.tool} cannot be read: {error}.") from None
    values = {}
    for name, argument in arguments.items():
        text = substitute(text=argument.text, references=argument.references, values=call.values).strip()
        values[name] = text[1:-1].strip() if text.startswith("[") and text.endswith("]") else text
    return values


def find_article(call: Call, *, corpus: Corpus) -> Outcome:
    """Run `KnowledgeQuery`."""
    if call.outputs > 2:
        return Refused(
            ActionProblem.BAD_ARGUMENTS, f"{KNOWLEDGE} has two results, and the action names {call.outputs}."
        )
    try:
        entity = bound(call, parameters=(Parameter("entity"),))["entity"]
    except UnboundError as error:
        return Refused(ActionProblem.BAD_ARGUMENTS, str(error))
    article = corpus.find(entity)
    if article is None:
        return Refused(ActionProblem.TOOL_ERROR, f"There is no article about {entity[:100]!r}.")
    return Made((text_of(article), article.title)[: call.outputs])


def find_paragraphs(call: Call, *, corpus: Corpus, count: int) -> Outcome:
    """Run `ParagraphRetrieve`."""
    if call.outputs != 1:
        return Refused(
            ActionProblem.BAD_ARGUMENTS, f"{PARAGRAPHS} has one result, and the action names {call.outputs}."
        )
    try:
        arguments = bound(call, parameters=(Parameter("knowledge"), Parameter("query", aliases=("question",))))
    except UnboundError as error:
        return Refused(ActionProblem.BAD_ARGUMENTS, str(error))
    knowledge = arguments["knowledge"]
    article = corpus.find(knowledge.partition("\n")[0])
    if article is None:
        message = f"There is no article {knowledge[:100]!r}; {PARAGRAPHS} takes a result of {KNOWLEDGE}."
        return Refused(ActionProblem.BAD_ARGUMENTS, message)
    try:
        paragraphs = corpus.paragraphs(article=article, query=arguments["query"], count=count)
    except RankingError as error:
        return ToolFault(str(error))
    return Made(("\n".join(paragraphs),))


def text_of(article: Article) -> str:
    """An article as text, with its title in the first line."""
    return "\n".join((article.title, *article.paragraphs))

"""The shortcut `regex` for `lumos-mini`: keyword rules, written by hand from public tasks. It plans all actions at once
and reads no result: of a shop's results it opens the first, and of two pictures or questions it takes one unseen."""

import re

from evaluator.core.planner import PlannerRequest
from evaluator.core.plans.model import Plan
from evaluator.lumos.mini.groups import TOOLS
from evaluator.lumos.sql.environment import TOOL as SQL_TOOL
from evaluator.lumos.tasks import GoldTurn, plan_of_turns

_EVENTS = (
    (r"\w+ (?:buys|finds|makes) (\d+) more", "R = Calculator({last} + {0})"),
    (r"\w+ (?:gives|sells|lends) (\d+) to", "R = Calculator({last} - {0})"),
    (r"has (\d+) times as many", "R = Calculator({last} * {0})"),
    (r"gets (\d+) boxes with (\d+)", "R = Calculator({0} * {1}); R = Calculator({last} + R)"),
    (r"equally among (\d+) friends", "R = Calculator({last} / {0})"),
    (r"for (\d+) coins each", "R = Calculator({last} * {0})"),
    (r"has (\d+) more \w+ than .* together", "R = Calculator({last} + {0}); R = Calculator({last} + R)"),
)
_OTHERS = (
    (r"average price of things of the kind (\w+)", "R = SELECT AVG(price) FROM things WHERE kind = '{0}'"),
    (r"titles of the pictures that (\w+) painted", "R = SELECT title FROM pictures WHERE painter = '{0}'"),
    (r"Which towns are in the (\w+)", "R = SELECT name FROM towns WHERE region = '{0}'"),
    (r"people who live in (\w+)", "R = SELECT name FROM people WHERE town = '{0}'"),
    (r"pictures show (\w+)", "R = SELECT COUNT(*) FROM pictures WHERE background = '{0}'"),
    (r"letters are heavier than (\d+)", "R = SELECT COUNT(*) FROM letters WHERE weight > {0}"),
    (r"How many people are older than (\d+)", "R = SELECT COUNT(*) FROM people WHERE age > {0}"),
    (r"oldest to the youngest.* than (\d+)",
     "R = SELECT name, age FROM people WHERE age > {0} ORDER BY age DESC, name"),
    (r"painted after (\d+), the newest",
     "R = SELECT title, year FROM pictures WHERE year > {0} ORDER BY year DESC, title"),
    (r"objects of each (\w+) are there", "R = SELECT {0}, COUNT(*) FROM objects GROUP BY {0}"),
    (r"people live in each region", "R = SELECT region, SUM(population) FROM towns GROUP BY region"),
    (r"sales were there at each (\w+)", "R = SELECT {0}, COUNT(*) FROM sales GROUP BY {0}"),
    (r"painters have more than (\d+)", "R = SELECT painter FROM pictures GROUP BY painter HAVING COUNT(*) > {0}"),
    (r"dearer than the (\w+)",
     "R = SELECT name FROM things WHERE price > (SELECT price FROM things WHERE name = '{0}')"),
    (r"towns have more people than (\w+)",
     "R = SELECT name FROM towns WHERE population > (SELECT population FROM towns WHERE name = '{0}')"),
    (r"people sold nothing at the (\w+)",
     "R = SELECT name FROM people WHERE person_id NOT IN (SELECT person_id FROM sales WHERE place = '{0}')"),
    (r"towns got no letter on (\w+)",
     "R = SELECT name FROM towns WHERE town_id NOT IN (SELECT to_town FROM letters WHERE day = '{0}')"),
    (r"towns did (\w+) send letters on (\w+)",
     "R = SELECT name FROM towns WHERE town_id IN (SELECT to_town FROM letters WHERE day = '{1}' AND from_town IN "
     "(SELECT town_id FROM towns WHERE name = '{0}'))"),
    (r"pictures by (\w+) have no (\w+)",
     "R = SELECT title FROM pictures WHERE painter = '{0}' AND picture_id NOT IN (SELECT picture_id FROM objects WHERE "
     "shape = '{1}')"),
    (r"^Look at the picture IMG\. (.*)", "R = VQA([IMG], Question: {0})"),
    (r"there is an? (\w+) in the picture IMG.*Otherwise answer: (.*)", "R = QA([NOTICE], Question: {1})"),
    (r"^One of the pictures IMG.*answer: (.*)", "R = VQA([IMG], Question: {0})"),
    (r"(?:want|Buy) an? (.*?) (\w+)(?:\. It must be| in) (\w+)(?:, size| and) (\w+)", "{shop}"),
    (r"need an? (?P<noun>\w+) that is (.*), (\w+) and (\w+); ", "{shop}"),
)  # fmt: skip
_SHOP = "R = Search({0} {1})" + "".join(f"; R = Click({{last}}, {what})" for what in ("1", "{2}", "{3}", "buy now"))
_VERBS = {"bought": "buy", "found": "find", "lost": "lose", "sold": "sell"}


def plan(request: PlannerRequest) -> Plan | None:
    """The plan by the rules; None if none of them applies."""
    text, steps = request.task.request, _Actions()
    has = re.match(r"\w+ has (\d+) ", text)
    if has is not None:
        steps.last = has[1]
        for sentence in re.split(r"(?<=\.) (?!How many do they)", text):
            for words, actions in _EVENTS:
                if match := re.search(words, sentence):
                    steps.add(actions, *match.groups())
    elif text.startswith("According"):
        _answer(text.partition(": ")[2].rstrip("?"), steps)
    else:
        match, actions = next(((match, do) for words, do in _OTHERS if (match := re.search(words, text))), (None, ""))
        if match is not None and actions == "{shop}":
            first, second, *options = match.groups()
            features, noun = (second, first) if "noun" in match.groupdict() else (first, second)
            steps.add(_SHOP, re.sub(r",| and", "", features), noun, *options)
        elif match is not None:
            steps.add(actions, *match.groups())
    is_sql = any("SELECT" in line for line in steps.lines)
    turns = [GoldTurn("Answer the request.", "; ".join(steps.lines))]
    return plan_of_turns(turns, catalogue=TOOLS, statement_tool=SQL_TOOL if is_sql else "") if steps.lines else None


class _Actions:
    """The actions so far, with the name of the last result."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.last = ""
        self.count = 0

    def add(self, actions: str, *values: str) -> str:
        """Add actions. `R =` names a new result, R alone is the newest, and `{last}` the one before these actions; in
        a shop it is the newest."""
        before = self.last
        for action in actions.split("; R"):
            line = action.removeprefix("R = ").removeprefix(" = ")
            line = re.sub(r"\bR\b", self.last, line)
            self.count += 1
            self.lines.append(f"R{self.count} = {line.format(*values, last=self.last if 'Click' in line else before)}")
            self.last = f"R{self.count}"
        return self.last

    def person(self, name: str) -> str:
        """Look a person up; returns the title of the article."""
        self.lines.append(f"R{self.count + 1}, R{self.count + 2} = KnowledgeQuery({name})")
        self.count, self.last = self.count + 2, f"R{self.count + 1}"
        return f"R{self.count}"


def _answer(question: str, steps: _Actions) -> str:
    """Actions that answer a question over the chronicle; innermost phrases first."""
    verbs = "|".join(_VERBS)
    if match := re.fullmatch(rf"Who ({verbs}) (.+)", question):
        thing = _thing(match[2], steps)
        steps.add("R = KnowledgeQuery({0}); R = ParagraphRetrieve(R, Query: {1} {0})", thing, match[1])
        return steps.add("R = QA([{last}], Question: Who {1} the {0}?)", thing, match[1])
    if match := re.fullmatch(rf"How much did the thing cost that (.+) ({verbs})", question):
        thing = _thing(f"what {match[1]} {match[2]}", steps)
        steps.add("R = KnowledgeQuery({0}); R = ParagraphRetrieve(R, Query: {0} cost)", thing)
        return steps.add("R = QA([{last}], Question: How much did the {0} cost?)", thing)
    if match := re.fullmatch(r"(Where|On which day|What) did the one who (.+) (\w+[dely])( something|)", question):
        person = steps.person(_answer(f"Who {match[2]}", steps))
        past = next(word for word, verb in _VERBS.items() if verb == match[3])
        steps.add("R = ParagraphRetrieve(R, Query: {0})", past)
        return steps.add("R = QA([{last}], Question: {0} did {1} {2}{3}?)", match[1], person, match[3], match[4])
    return ""


def _thing(phrase: str, steps: _Actions) -> str:
    """A thing by name, or the result that names it."""
    verbs = "|".join(_VERBS)
    if match := re.fullmatch(rf"what the one who (.+) ({verbs})", phrase):
        return _answer(f"What did the one who {match[1]} {_VERBS[match[2]]}", steps)
    if match := re.fullmatch(rf"what (.+) ({verbs})", phrase):
        steps.add("R = KnowledgeQuery({0}); R = ParagraphRetrieve(R, Query: {1})", match[1], match[2])
        return steps.add("R = QA([{last}], Question: What did {0} {1}?)", match[1], _VERBS[match[2]])
    return phrase.removeprefix("the ")

"""The command `planarena planners list`."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import typer

from evaluator.core.commands.listing import Listing, has_width
from evaluator.core.commands.options import JsonFlag
from evaluator.core.commands.usage import out, print_json
from evaluator.core.language_model import Ability
from evaluator.core.strategy_options import Option, Role
from evaluator.planners.bundled import BUNDLED
from evaluator.planners.language_models.choosing import FORMS
from evaluator.planners.strategies.registry import StrategyEntry, abilities_in_words, strategies

app = typer.Typer(no_args_is_help=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannerRow:
    """A planner in the list."""

    name: str
    description: str
    suites: tuple[str, ...] = ()
    """Suites that it supports; empty: all."""
    needs: frozenset[Ability] = frozenset()
    """Abilities that its language model must have; empty: it needs none."""
    optional: frozenset[Ability] = frozenset()
    """Abilities that an optional language model must have; empty: it uses none."""
    options: tuple[Option, ...] = ()
    roles: tuple[Role, ...] = ()
    """Parts that may have a language model of their own."""

    @classmethod
    def of_strategy(cls, entry: StrategyEntry) -> "PlannerRow":
        model = ":MODEL" if entry.needs else "[:MODEL]" if entry.optional else ""
        return cls(
            name=f"{entry.name}{model}",
            description=entry.description,
            suites=entry.suites,
            needs=entry.needs,
            optional=entry.optional,
            options=entry.options.declared,
            roles=entry.roles,
        )

    @property
    def heading(self) -> str:
        """Suites and language model in words: `All suites; MODEL must generate`."""
        suites = ", ".join(self.suites) or "All suites"
        if self.needs:
            return f"{suites}; MODEL must {abilities_in_words(self.needs)}"
        if self.optional:
            return f"{suites}; MODEL is optional and must {abilities_in_words(self.optional)}"
        return f"{suites}; no language model"

    def to_json(self) -> dict[str, Any]:
        """For `--json`. `suites` is null for all suites."""
        use = "required" if self.needs else "optional" if self.optional else "none"
        return {
            "name": self.name,
            "description": self.description,
            "suites": list(self.suites) or None,
            "language_model": use,
            "abilities": [str(ability) for ability in Ability if ability in self.needs | self.optional],
            "options": {
                option.name: {
                    "default": option.initial,
                    "range": option.range_in_words(),
                    "description": option.sentence,
                }
                for option in self.options
            },
            "roles": {role.name: role.sentence for role in self.roles},
        }

    @property
    def details(self) -> str:
        """Its options and roles, for the list; empty if it has none."""
        options = "; ".join(f"{option.name}={option.initial or ''}" for option in self.options)
        roles = ",".join(f"{role.name}=MODEL" for role in self.roles)
        parts = [f"Options: @{options}." if options else "", f"Roles: MODEL,{roles}." if roles else ""]
        return " ".join(filter(None, parts))


@app.command("list")
def list_planners(as_json: JsonFlag = False) -> None:
    """List the bundled planners and the strategies, with the language model and the suites of each."""
    rows = planner_rows()
    if as_json:
        print_json([row.to_json() for row in rows])
        return
    table = Listing("planner", "description", prose="description")
    for heading, members in groupby(sorted(rows, key=_order), key=lambda row: row.heading):
        table.add_section(heading)
        for row in members:
            table.add_row(row.name, f"{row.description} {row.details}".strip())
    table.show(out)
    out.print(f"\nMODEL is one of {FORMS}.", highlight=False, markup=False, soft_wrap=not has_width(out))


def planner_rows() -> Sequence[PlannerRow]:
    """All planners: the bundled ones, then the strategies by name."""
    bundled = [
        PlannerRow(name=entry.name, description=entry.description, suites=entry.suites) for entry in BUNDLED.values()
    ]
    return [*bundled, *map(PlannerRow.of_strategy, strategies().values())]


def _order(row: PlannerRow) -> tuple[bool, bool, str]:
    """Planners for all suites first, and among these the ones without a language model."""
    return bool(row.suites), bool(row.needs or row.optional), row.heading

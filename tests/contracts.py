"""Import contracts of our own (`pyproject.toml`, import-linter)."""

from collections.abc import Iterator, Sequence

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output

Import = tuple[str, str]
"""The importer and what it imports."""


class _OfPairs(Contract):
    """A contract that names each import against it."""

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        found = sorted(self.wrong(graph))
        return ContractCheck(kept=not found, metadata={"wrong": found})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for importer, imported in check.metadata["wrong"]:
            output.print_error(f"{importer} imports {imported}")

    def wrong(self, graph: ImportGraph) -> Iterator[Import]:
        raise NotImplementedError


class Rooms(_OfPairs):
    """Rooms with a domain and an outside, such as pages and API.

    A module of a room's domain imports the domain of its own room and of those before it. A module outside, in one of
    the folders `outer` or in one of the rooms `outermost`, imports anything. Every package is a room.

    Options:
        container: the package of the rooms.
        rooms: their names, each of which knows those before it.
        outer: folders of a room that are not its domain.
        outermost: rooms without a domain.
    """

    type_name = "rooms"

    container = fields.StringField()
    rooms = fields.ListField(subfield=fields.StringField())
    outer = fields.ListField(subfield=fields.StringField())
    outermost = fields.ListField(subfield=fields.StringField())

    def wrong(self, graph: ImportGraph) -> Iterator[Import]:
        order = {name: place for place, name in enumerate(self.rooms)}  # type: ignore[arg-type]  # a field's value
        for child in sorted(graph.find_children(self.container)):  # type: ignore[arg-type]
            if child.rpartition(".")[2] not in {*order, *self.outermost}:  # type: ignore[misc]
                yield child, "without being a room: name it in the contract"
        for importer in graph.find_descendants(self.container):  # type: ignore[arg-type]
            room = self._domain(importer)
            if room is None or room not in order:
                continue
            for imported in graph.find_modules_directly_imported_by(importer):
                if not imported.startswith(f"{self.container}."):
                    continue
                other = self._domain(imported)
                if other is None or order.get(other, len(order)) > order[room]:
                    yield importer, imported

    def _domain(self, module: str) -> str | None:
        """The room whose domain a module belongs to; None: it is outside of all."""
        _, room, *rest = module.removeprefix(f"{self.container}").split(".")
        outside = room in self.outermost or bool(rest and rest[0] in self.outer)  # type: ignore[operator]
        return None if outside else room


class Closed(_OfPairs):
    """A package that imports itself, what is named and what is not ours.

    Options:
        package: its name.
        allowed: modules of ours that it may import.
    """

    type_name = "closed"

    package = fields.StringField()
    allowed = fields.ListField(subfield=fields.StringField())

    def wrong(self, graph: ImportGraph) -> Iterator[Import]:
        allowed: Sequence[str] = [str(name) for name in (self.package, *self.allowed)]  # type: ignore[misc]
        ours = tuple(f"{name}." for name in self.session_options["root_packages"])
        for importer in {self.package, *graph.find_descendants(self.package)}:  # type: ignore[arg-type]
            for imported in graph.find_modules_directly_imported_by(str(importer)):
                if imported.startswith(ours) and not any(f"{imported}.".startswith(f"{one}.") for one in allowed):
                    yield str(importer), imported

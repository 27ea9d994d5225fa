"""Which tool catalog does an OpenAPI file describe? Rule: authoring.md §15."""

from __future__ import annotations

from collections.abc import Mapping

from bfcl.authoring.imports.catalog_secrets import without_credentials
from bfcl.authoring.imports.decisions import Decided, Decisions, decide, entry, with_confirmation
from bfcl.authoring.imports.merge import Schema
from bfcl.authoring.imports.operations import READING, Operation, operations_of
from bfcl.authoring.imports.parameters import OperationReader
from bfcl.authoring.imports.references import References
from bfcl.authoring.imports.report import Faults, ImportedCatalog, ImportedTool, Notes
from bfcl.authoring.imports.spec_source import SpecSource, dialect_of, read_spec
from bfcl.canonical import Json
from bfcl.errors import ConfigError, PackError, raise_all


def import_openapi(data: bytes, decisions: Decisions, *, path: str) -> ImportedCatalog:
    """A catalog of the chosen operations, in file order. `path` is how messages name the file.

    GET and HEAD read unless declared otherwise; every other method needs a decision, else it is among `undecided`.
    Raises: BfclError `import_source_invalid` for a file that cannot be read and for what the chosen operations refer
    to in vain; ConfigError `unknown_operation`, `import_decision_conflict`, `confirmation_parameter_taken`.
    """
    source = read_spec(data, path=path)
    dialect = dialect_of(source)
    root = source.document.value
    if not isinstance(root, Mapping):
        raise TypeError("a document with a dialect is an object")
    notes, faults = Notes(), Faults()
    references = References(root, faults)
    found, unread = operations_of(root, notes, faults)
    if not decisions.only:
        faults.add(unread)
    _raise(faults, source)
    decided = _decided(decisions, found, unread, source)
    chosen = [each for each in found if each.name in decided.only]
    entries: list[Json] = []
    for operation in chosen:
        reader = OperationReader(references, notes.of(operation.name), faults, dialect)
        parameters = reader.parameters(operation)
        if operation.name in decided.confirm:
            gated = with_confirmation(parameters, decisions.confirmation_parameter)
            if gated is None:
                _taken(operation, decisions.confirmation_parameter, faults)
            parameters = gated or parameters
        entries.append(_entry(operation, parameters, decided, notes.of(operation.name)))
    _raise(faults, source)
    lines = source.lines([each.at for each in chosen])
    tools = [_tool(each, decided, lines[each.at]) for each in chosen]
    return ImportedCatalog(entries=entries, tools=tools, report=_report(notes, source, chosen))


def _raise(faults: Faults, source: SpecSource) -> None:
    problems = faults.problems(source.document.path, source.lines)
    raise_all(ConfigError if any(each.code != "import_source_invalid" for each in problems) else PackError, problems)


def _entry(operation: Operation, parameters: Schema, decided: Decided, notes: Notes) -> Json:
    def tell(_place: tuple[str, ...], keyword: str, words: str) -> None:
        notes.note(operation.at, keyword, "dropped", words)

    words = without_credentials({"description": _description(operation, notes)}, tell)
    description = str(words.get("description", ""))
    return entry(operation.name, description, without_credentials(parameters, tell), decided)


def _decided(decisions: Decisions, found: list[Operation], unread: Faults, source: SpecSource) -> Decided:
    """The decisions by tool name; beside a name that nothing has, the paths that may hold it and cannot be read."""
    try:
        return decide(decisions, {each.name: _aliases(each) for each in found}, "operation")
    except ConfigError as error:
        raise ConfigError([*error.problems, *unread.problems(source.document.path, source.lines)]) from None


def _aliases(operation: Operation) -> list[str]:
    named = [operation.operation_id] if operation.operation_id else []
    return [*named, operation.source, f"{operation.method} {operation.path}"]


def _taken(operation: Operation, name: str, faults: Faults) -> None:
    faults.note(
        operation.at,
        f"`{operation.name}` has a parameter `{name}` that is no boolean, so it cannot carry consent",
        "choose another name with --confirmation-parameter, and declare it as `confirmation.parameter` in the manifest",
        code="confirmation_parameter_taken",
    )


def _description(operation: Operation, notes: Notes) -> str:
    """Summary, then description, as two paragraphs."""
    told = []
    for keyword in ("summary", "description"):
        text = operation.value.get(keyword)
        if isinstance(text, str) and text.strip() and text.strip() not in told:
            told.append(text.strip())
    if operation.value.get("deprecated") is True:
        where = (*operation.at, "deprecated")
        notes.note(where, "deprecated", "dropped", "the operation is deprecated; is it wanted?")
    return "\n\n".join(told)


def _tool(operation: Operation, decided: Decided, line: int) -> ImportedTool:
    mutates: bool | None = operation.name in decided.mutates
    if not mutates and operation.method not in READING and operation.name not in decided.read_only:
        mutates = None
    return ImportedTool(
        name=operation.name,
        source=operation.source,
        line=line,
        mutates=mutates,
        requires_confirmation=operation.name in decided.confirm,
    )


def _report(notes: Notes, source: SpecSource, chosen: list[Operation]) -> list[Json]:
    """The notices about imported tools; naming the others has left notices too."""
    names = {each.name for each in chosen}
    rows = notes.to_json(source.lines)
    return [row for row in rows if isinstance(row, Mapping) and names & set(_names(row["tools"]))]


def _names(tools: Json) -> list[str]:
    return [str(name) for name in tools] if isinstance(tools, list) else []

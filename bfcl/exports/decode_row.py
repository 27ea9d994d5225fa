"""What does one published row say, every JSON column decoded and held against the others? Rule: generation.md §7."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from bfcl.canonical import Json, canonical_text
from bfcl.exports.conversation import LayoutFault, read_layout
from bfcl.exports.exact import Inexact, exact_json
from bfcl.exports.row import ExportCall, ExportRow
from bfcl.tables.benchmark import BenchmarkRow, ExpectedCall

SCHEMA_MISMATCH: Final = "export_schema_mismatch"
UNSUPPORTED_LAYOUT: Final = "unsupported_export_call_layout"

_METADATA: Final = {
    "base_task_id": str,
    "expt_name": str,
    "language": str,
    "profile_hash": str | None,
    "surface_source": str,
}
_MAY_BE_NULL: Final = frozenset(
    {"intent", "difficulty", "call_order_prefix", "paraphrase_model", "paraphrase_model_canonical", "held_out_hit"}
)


class Fault(NamedTuple):
    """What is wrong with a row: an error code, and what was seen and expected."""

    code: str
    message: str


def decode_row(published: BenchmarkRow) -> ExportRow | list[Fault]:
    """The row decoded, or everything that is wrong with it: columns first, then how its calls lie."""
    nulls = [name for name, value in published.items() if value is None and name not in _MAY_BE_NULL]
    if nulls:
        return [Fault(SCHEMA_MISMATCH, f"`{name}` is null") for name in nulls]
    reader = _Reader()
    tools = reader.tools(published)
    metadata = reader.metadata(published)
    calls = [reader.call(index, call) for index, call in enumerate(published["expected_tool_calls"])]
    reader.columns(published)
    # Calls whose arguments could not be read lie nowhere: the walk would only repeat what is said already.
    if any(call is None for call in calls):
        return reader.faults
    known = [call for call in calls if call is not None]
    try:
        layout = read_layout(published["messages"], known)
    except LayoutFault as fault:
        reader.faults.append(Fault(UNSUPPORTED_LAYOUT, str(fault)))
    if reader.faults:
        return reader.faults
    return ExportRow(
        published=published,
        messages=layout.messages,
        tools=tuple(tools),
        calls=tuple(known),
        groups=layout.groups,
        metadata=metadata,
    )


class _Reader:
    """Decodes one row's columns and books every fault; what could not be decoded comes back empty."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []

    def tools(self, row: BenchmarkRow) -> list[Mapping[str, Json]]:
        """The tool objects; their names are those of `tools_present`, in its order."""
        value = self._exact("`tools`", row["tools"], read=_tools_text)
        if not isinstance(value, list):
            if value is not None:
                self._fault("`tools` is no list")
            return []
        names = [_tool_name(tool) for tool in value]
        if names != row["tools_present"]:
            shown = ", ".join("no function" if name is None else name for name in names)
            self._fault(f"`tools` holds {shown or 'nothing'}, `tools_present` {', '.join(row['tools_present'])}")
        return [tool for tool in value if isinstance(tool, Mapping)]

    def metadata(self, row: BenchmarkRow) -> Mapping[str, Json]:
        """The metadata object: exactly its five keys, texts but for a profile hash that may be null."""
        value = self._exact("`metadata`", row["metadata"])
        if value is None:
            return {}
        if not isinstance(value, Mapping) or value.keys() != _METADATA.keys():
            self._fault(f"`metadata` is {row['metadata']}, expected an object of {', '.join(_METADATA)}")
            return {}
        for key, kind in _METADATA.items():
            if not isinstance(value[key], kind):
                self._fault(f"`metadata.{key}` is {canonical_text(value[key])}, expected text")
        return value

    def call(self, index: int, call: ExpectedCall) -> ExportCall | None:
        """The call with decoded arguments, or None once its faults are booked."""
        before = len(self.faults)
        place = f"`expected_tool_calls[{index}]`"
        names = [name for name, _ in call["arguments"]]
        for name in sorted({name for name in names if names.count(name) > 1}):
            self._fault(f"{place} gives argument `{name}` more than once")
        arguments = {name: self._exact(f"{place} argument `{name}`", text) for name, text in call["arguments"]}
        if len(self.faults) > before:
            return None
        return ExportCall(
            turn_index=call["turn_index"],
            call_group=call["call_group"],
            position_in_group=call["position_in_group"],
            function_name=call["function_name"],
            arguments=arguments,
        )

    def columns(self, row: BenchmarkRow) -> None:
        """Texts of tool results, and columns that restate others."""
        for index, message in enumerate(row["messages"]):
            if message["role"] == "tool":
                self._exact(f"`messages[{index}].content`", message["content"])
            for call in message["tool_calls"] or ():
                self._exact(f"`messages[{index}]` arguments of {call['id']}", call["function"]["arguments"])
        for name, wanted in _restated(row):
            seen = row[name]  # type: ignore[literal-required]
            if seen != wanted:
                self._fault(f"`{name}` is {seen}, expected {wanted}")
        if row["held_out_hit"]:
            self._fault("`held_out_hit` is true: the row uses reserved material")

    def _exact(self, place: str, text: str | None, read: Callable[[str | None], Json] = exact_json) -> Json:
        try:
            return read(text)
        except Inexact as fault:
            self._fault(f"{place} {fault}")
            return None

    def _fault(self, message: str) -> None:
        self.faults.append(Fault(SCHEMA_MISMATCH, message))


@functools.lru_cache(maxsize=256)
def _tools_text(text: str | None) -> Json:
    # Most of a row's text is its tools, and a run knows few lists of them.
    return exact_json(text)


def _tool_name(tool: Json) -> str | None:
    """The name of a `{type, function}` object, None for anything else."""
    if not isinstance(tool, Mapping) or tool.keys() != {"type", "function"} or tool["type"] != "function":
        return None
    function = tool["function"]
    name = function.get("name") if isinstance(function, Mapping) else None
    return name if isinstance(name, str) else None


def _restated(row: BenchmarkRow) -> Iterator[tuple[str, str | int | bool]]:
    users = sum(message["role"] == "user" for message in row["messages"])
    fingerprint: Sequence[str] = sorted(row["required_tools"])
    yield "required_tools_fingerprint", canonical_text(fingerprint)
    yield "num_tool_calls", len(row["expected_tool_calls"])
    yield "is_multi_turn", users > 1
    yield "src", f"{row['pack_id']}:{row['template_id']}"

"""Stubs in files: nothing that stands there moves, what cannot be added safely is refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.authoring.stubs.append import appended_json, appended_yaml
from bfcl.errors import ConfigError
from bfcl.located import parse_yaml

ENTRY = {"id": "a", "expect": {"n": "012"}}


@pytest.mark.parametrize(
    "text",
    [
        "- id: b\n",
        "- id: b",
        "# only a remark\n",
        "",
        "  - id: b\n",
        " - id: b\n",
        "   - id: b\n   - id: c\n",
        "- {id: b}\n\n\n",
        "- id: |+\n    b\n",
        "- id: b\n  expect: {}\n# the end",
    ],
)
def test_yaml_list_grows_at_its_end_and_keeps_its_bytes(text: str) -> None:
    grown = appended_yaml(text.encode(), [ENTRY], "cases.yaml")
    assert grown.startswith(text.encode())
    before = parse_yaml(text.encode(), path="x", code="y").value or []
    assert isinstance(before, list)
    assert parse_yaml(grown, path="x", code="y").value == [*before, ENTRY]


@pytest.mark.parametrize("text", ["[{id: b}]\n", "[{id: b}, {id: c}]\n"])
def test_yaml_flow_list_is_refused(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        appended_yaml(text.encode(), [ENTRY], "cases.yaml")
    assert str(caught.value) == (
        "cases.yaml: append_impossible: nothing was added: its list is not written item below item\n"
        "  fix: write it as a block list, or add the text by hand"
    )


@given(st.lists(st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=5), max_size=2), max_size=3))
def test_json_array_grows_by_one_entry_whatever_it_holds(before: list[dict[str, int | str]]) -> None:
    for indent in (None, 2):
        data = json.dumps(before, indent=indent, ensure_ascii=False).encode() + b"\n"
        assert json.loads(appended_json(data, {"k": "]"}, "tools.json")) == [*before, {"k": "]"}]


@pytest.mark.parametrize("end", ["...\n", "...", "... # the end\n# really\n"])
def test_yaml_document_end_stays_the_end(end: str) -> None:
    grown = appended_yaml(f"---\n- id: b\n{end}".encode(), [ENTRY], "cases.yaml")
    assert grown.decode() == f"---\n- id: b\n\n- id: a\n  expect:\n    n: '012'\n{end}"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_added_lines_end_as_the_lines_of_the_file_do(end: str) -> None:
    cases = appended_yaml(f"- id: b{end}- id: c{end}".encode(), [ENTRY], "cases.yaml")
    assert cases.decode() == f"- id: b{end}- id: c{end}{end}- id: a{end}  expect:{end}    n: '012'{end}"
    tools = appended_json(f"[{end}  1{end}]{end}".encode(), {"k": "]"}, "tools.json")
    assert tools.decode() == end.join(["[", "  1,", "  {", '    "k": "]"', "  }", "]", ""])


def test_yaml_text_that_would_grow_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        appended_yaml(b"- id: |\n    b", [ENTRY], "cases.yaml")
    assert str(caught.value) == (
        "cases.yaml: append_impossible: nothing was added: an item below its last would change what stands there, or "
        "not be read as one\n  fix: end the file with the last item and one line break, or add the text by hand"
    )


@pytest.mark.parametrize("text", ["[]\n", "# none\n[ ] # yet\n", "null\n", "~", "---\n[]\n"])
def test_yaml_empty_list_written_out_makes_room_for_the_first_item(text: str) -> None:
    grown = appended_yaml(text.encode(), [ENTRY], "cases.yaml")
    assert parse_yaml(grown, path="x", code="y").value == [ENTRY]

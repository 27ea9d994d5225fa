"""`bfcl import`: what it writes, what it prints, how it ends."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from bfcl.authoring.imports.fixtures_text import with_collection
from bfcl.canonical import Json
from bfcl.cli.imports import imports
from bfcl.cli.main import COMMANDS
from tests.cli.conftest import Ended

Command = Callable[..., Ended]

SPEC = """\
openapi: 3.0.0
paths:
  /bikes/{id}:
    get:
      operationId: find_bike
      parameters:
        - {name: id, in: path, required: true, schema: {type: string, format: uuid}}
      responses: {200: {description: Found.}}
    delete:
      operationId: drop_bike
      parameters:
        - {name: id, in: path, required: true, schema: {type: string}}
      responses: {204: {description: Gone.}}
"""
DESK = '''\
def rent_bike(bike_id: str, days: int = 1):
    """Rent a bike."""

def mend_bike(parts: set[str]):
    """Mend a bike."""
'''
BIKES = "bike_id,gears\nB-1,3\nB-2,21\n"


@pytest.fixture
def here(project: Path) -> Path:
    (project / "shop.yaml").write_text(SPEC)
    (project / "desk.py").write_text(DESK)
    (project / "bikes.csv").write_text(BIKES)
    return project


def test_summary_in_the_list_of_commands_is_the_first_line_of_help() -> None:
    assert COMMANDS["import"].summary == (imports.help or "").split("\n")[0]


def test_openapi_writes_the_catalog_and_prints_the_document(bfcl: Command, here: Path) -> None:
    said = bfcl(
        "import", "openapi", "shop.yaml", "--mutates", "drop_bike", "--confirm", "drop_bike", "--out", "t/tools.json"
    )
    assert (said.status, said.err) == (0, "")
    assert (here / "t" / "tools.json").read_text() == TOOLS
    document = json.loads(said.out)
    assert document == {
        "schema_version": "1.0",
        "status": "written",
        "source": "shop.yaml",
        "written": "t/tools.json",
        "tools": [
            {
                "name": "find_bike",
                "source": "GET /bikes/{id}",
                "line": 4,
                "mutates": False,
                "requires_confirmation": False,
            },
            {
                "name": "drop_bike",
                "source": "DELETE /bikes/{id}",
                "line": 9,
                "mutates": True,
                "requires_confirmation": True,
            },
        ],
        "report": [
            {
                "pointer": "/paths/~1bikes~1{id}/get/parameters/0/schema/format",
                "keyword": "format",
                "action": "translated",
                "message": '"uuid" is told in the description',
                "line": 7,
                "tools": ["find_bike"],
            }
        ],
        "undecided": [],
        "findings": [],
    }


TOOLS = """\
[
  {
    "type": "function",
    "function": {
      "name": "find_bike",
      "parameters": {
        "type": "object",
        "properties": {
          "id": {
            "type": "string",
            "description": "Format: uuid."
          }
        },
        "required": [
          "id"
        ],
        "additionalProperties": false
      }
    },
    "x-mutates": false,
    "x-requires-confirmation": false
  },
  {
    "type": "function",
    "function": {
      "name": "drop_bike",
      "parameters": {
        "type": "object",
        "properties": {
          "id": {
            "type": "string"
          },
          "confirm": {
            "type": "boolean",
            "default": false,
            "description": "True once the user has agreed to it."
          }
        },
        "required": [
          "id"
        ],
        "additionalProperties": false
      }
    },
    "x-mutates": true,
    "x-requires-confirmation": true
  }
]
"""


def test_option_given_twice_names_all(bfcl: Command, here: Path) -> None:
    options = ("--mutates", "drop_bike", "--mutates", "find_bike", "--out", "tools.json")
    assert bfcl("import", "openapi", "shop.yaml", *options).status == 0
    assert [tool["x-mutates"] for tool in json.loads((here / "tools.json").read_text())] == [True, True]


def test_undecided_operation_ends_in_2_and_writes_nothing(bfcl: Command, here: Path) -> None:
    said = bfcl("import", "openapi", "shop.yaml", "--out", "tools.json", "--format", "text")
    assert said == (
        2,
        "written    nothing\n"
        "tools      2\n"
        "  find_bike  reads                  GET /bikes/{id}\n"
        "  drop_bike  undecided              DELETE /bikes/{id}\n"
        "\n"
        "changed on the way\n"
        '  shop.yaml:7: format translated: "uuid" is told in the description (find_bike)\n'
        "\n"
        "undecided: name each under --mutates or --read-only\n"
        "  shop.yaml:9: drop_bike (DELETE /bikes/{id})\n",
        "",
    )
    assert not (here / "tools.json").exists()


def test_python_writes_the_catalog_and_says_so(bfcl: Command, here: Path) -> None:
    said = bfcl(
        "import", "python", "desk.py", "--functions", "rent_bike", "--mutates", "rent_bike", "--confirm", "rent_bike",
        "--confirmation-parameter", "sure", "--out", "tools.json", "--format", "text",
    )  # fmt: skip
    assert said == (0, "written    tools.json\ntools      1\n  rent_bike  mutates, asks first    rent_bike\n", "")
    tools = json.loads((here / "tools.json").read_text())
    assert list(tools[0]["function"]["parameters"]["properties"]) == ["bike_id", "days", "sure"]


def test_python_finding_ends_in_2_and_writes_nothing(bfcl: Command, here: Path) -> None:
    said = bfcl(
        "import", "python", "desk.py", "--functions", "rent_bike, mend_bike", "--out", "t.json", "--format", "text"
    )
    assert (said.status, said.err) == (2, "")
    assert said.out.endswith(
        "\nno JSON form\n"
        "  desk.py:4: unsupported_hint: `mend_bike.parts`: the hint `set[str]` has no JSON form that can be told from "
        "this file\n"
        "    fix: JSON has no sets: write `list[...]`\n"
    )
    assert not (here / "t.json").exists()


def test_records_create_and_extend_fixtures(bfcl: Command, here: Path) -> None:
    arguments = ("import", "records", "bikes.csv", "--key", "bike_id", "--into", "fixtures.json")
    said = bfcl(*arguments, "--collection", "bikes", "--format", "text")
    assert said == (
        0,
        "written    fixtures.json\ncollection bikes, 2 rows, key bike_id\n"
        "\ncolumns\n  bike_id  text\n  gears    integer\n",
        "",
    )
    one = '{\n  "bikes": [\n    {"bike_id": "B-1", "gears": 3},\n    {"bike_id": "B-2", "gears": 21}\n  ]'
    assert (here / "fixtures.json").read_text() == one + "\n}\n"
    said = bfcl(*arguments, "--collection", "more", "--types", "gears=number", "--types", "gears=text")
    assert (said.status, json.loads(said.out)["columns"]) == (0, {"bike_id": "text", "gears": "text"})
    two = ',\n  "more": [\n    {"bike_id": "B-1", "gears": "3"},\n    {"bike_id": "B-2", "gears": "21"}\n  ]'
    assert (here / "fixtures.json").read_text() == one + two + "\n}\n"


def test_records_replace_a_collection_only_when_told(bfcl: Command, here: Path) -> None:
    fixtures = here / "fixtures.json"
    fixtures.write_text('{"bikes": [], "x": 1.0}')
    arguments = (
        "import",
        "records",
        "bikes.csv",
        "--collection",
        "bikes",
        "--key",
        "bike_id",
        "--into",
        "fixtures.json",
    )
    assert bfcl(*arguments) == (
        1,
        "",
        "fixtures.json:1: collection_exists: the collection `bikes` is there already\n"
        "  fix: pass --replace to put the new rows in its place, or choose another --collection\n",
    )
    assert fixtures.read_text() == '{"bikes": [], "x": 1.0}'
    assert bfcl(*arguments, "--replace").status == 0
    assert fixtures.read_text().endswith('\n  ], "x": 1.0}')


def test_fixtures_behind_a_link_are_written_where_they_are(bfcl: Command, here: Path) -> None:
    (here / "real.json").write_text("{}")
    (here / "fixtures.json").symlink_to("real.json")
    said = bfcl("import", "records", "bikes.csv", "--collection", "b", "--key", "bike_id", "--into", "fixtures.json")
    assert said.status == 0
    assert (here / "fixtures.json").is_symlink()
    assert "B-2" in (here / "real.json").read_text()


def test_secret_is_refused_and_nothing_is_written(bfcl: Command, here: Path) -> None:
    (here / "bikes.csv").write_text("bike_id,password\nB-1,hunter2\n")
    said = bfcl("import", "records", "bikes.csv", "--collection", "b", "--key", "bike_id", "--into", "fixtures.json")
    assert said == (
        1,
        "",
        "bikes.csv:2: secret_in_records: column `password` holds a value, and its name says credential\n"
        "  fix: replace it by an invented value; where it is invented already, pass --allow-secrets password\n",
    )
    assert not (here / "fixtures.json").exists()
    allowed = ("--allow-secrets", "password")
    said = bfcl("import", "records", "bikes.csv", "--collection", "b", "--key", "bike_id", "--into", "f.json", *allowed)
    assert said.status == 0


@pytest.mark.parametrize(
    "arguments",
    [("openapi", "shop.yaml", "--read-only", "drop_bike"), ("python", "desk.py", "--functions", "rent_bike")],
)
@pytest.mark.parametrize("there", ["file", "dangling link"])
def test_output_that_exists_is_never_overwritten(
    bfcl: Command, here: Path, arguments: tuple[str, ...], there: str
) -> None:
    out = here / "tools.json"
    if there == "file":
        out.write_text("mine")
    else:
        out.symlink_to("nowhere")
    assert bfcl("import", *arguments, "--out", "tools.json") == (
        1,
        "",
        "tools.json: output_exists: the file exists already\n"
        "  fix: choose another --out, or move the file away first\n",
    )
    assert not (here / "nowhere").exists()
    assert out.is_symlink() or out.read_text() == "mine"


def test_output_that_cannot_be_written_is_a_refusal(bfcl: Command, here: Path) -> None:
    said = bfcl("import", "openapi", "shop.yaml", "--read-only", "drop_bike", "--out", "desk.py/tools.json")
    assert said.status == 1
    assert said.err.startswith("storage_failed: desk.py/tools.json: cannot write: ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("openapi", "shop.yaml", "--mutates", "a,,b", "--out", "t"), "a name is empty; separate names by one comma"),
        (("openapi", "gone.yaml", "--out", "t"), "'gone.yaml' does not exist"),
        (("openapi", "shop.yaml", "--confirmation-parameter", " ", "--out", "t"), "--confirmation-parameter is empty"),
        (("python", "desk.py", "--out", "t"), "Missing option '--functions'"),
        (("records", "bikes.csv", "--collection", "b", "--key", "k", "--into", "t", "--types", "a=date"),
         "'a=date' is not COLUMN=TYPE with a type of integer, number, boolean, text"),
        (("records", "bikes.csv", "--collection", " ", "--key", "k", "--into", "t"), "--collection is empty"),
        (("records", "bikes.csv", "--collection", "b", "--key", "k", "--into", "t", "--delimiter", "::"),
         "--delimiter is one character, and neither a quote, a blank nor a line break"),
    ],
)  # fmt: skip
def test_unusable_command_line_ends_in_1(bfcl: Command, here: Path, arguments: tuple[str, ...], message: str) -> None:
    said = bfcl("import", *arguments)
    assert (said.status, said.out) == (1, "")
    assert message in said.err
    assert not (here / "t").exists()


def test_records_file_that_appears_meanwhile_is_not_replaced(
    bfcl: Command, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "kilns.csv").write_text("kiln_id\nK-1\n")

    def slow(data: bytes | None, name: str, rows: Sequence[Mapping[str, Json]], **how: Any) -> bytes:
        (project / "fixtures.json").write_text("theirs")
        return with_collection(data, name, rows, **how)

    monkeypatch.setattr("bfcl.cli.imports.with_collection", slow)
    asked = ("import", "records", "kilns.csv", "--collection", "kilns", "--key", "kiln_id", "--into", "fixtures.json")
    assert bfcl(*asked) == (
        1,
        "",
        "fixtures.json: output_exists: the file exists already\n"
        "  fix: run the same command again: it adds to the file\n",
    )
    assert (project / "fixtures.json").read_text() == "theirs"


def test_records_keep_the_mode_of_the_file_they_go_into(
    bfcl: Callable[..., tuple[int, str, str]], project: Path
) -> None:
    (project / "rows.csv").write_text("id,n\na,1\n")
    into = project / "fixtures.json"
    into.write_text("{}\n")
    into.chmod(0o600)
    arguments = ("import", "records", "rows.csv", "--collection", "rows", "--key", "id", "--into", "fixtures.json")
    assert bfcl(*arguments)[0] == 0
    assert into.stat().st_mode & 0o7777 == 0o600

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from bfcl.pack.model import Role
from bfcl.pack.schema_files import EXPORTED, NAMES, file_name, modeline, schema, schema_bytes


def _undescribed(part: Any, at: str) -> Iterator[str]:
    """Places of properties that an editor could say nothing about."""
    if isinstance(part, list):
        for index, one in enumerate(part):
            yield from _undescribed(one, f"{at}.{index}")
    elif isinstance(part, Mapping):
        properties = part.get("properties", {})
        for key, one in properties.items() if isinstance(properties, Mapping) else ():
            if isinstance(one, Mapping) and not {"description", "$ref"} & one.keys():
                yield f"{at}.{key}"
        for key, one in part.items():
            if key != "default":
                yield from _undescribed(one, f"{at}.{key}")


@pytest.mark.parametrize("name", NAMES)
def test_schema_is_valid_json_schema_with_an_id_of_its_own(name: str) -> None:
    Draft202012Validator.check_schema(schema(name))
    assert schema(name)["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema(name)["$id"] == f"https://bfcl.invalid/schemas/{file_name(name)}"


@pytest.mark.parametrize("name", NAMES)
def test_schema_describes_every_field(name: str) -> None:
    assert list(_undescribed(schema(name), name)) == []


def test_schema_file_ends_in_a_line_feed_and_is_utf8() -> None:
    for name in NAMES:
        assert schema_bytes(name).decode().endswith("}\n")


def test_modeline_leads_from_a_file_of_the_pack_to_the_directory_beside_it() -> None:
    line = modeline("task_templates")
    assert line == "# yaml-language-server: $schema=../.bfcl/schemas/task_templates.schema.json"
    target = line.partition("$schema=")[2]
    assert os.path.normpath(f"packs/mine/{target}") == f"packs/{EXPORTED}/task_templates.schema.json"


def test_modeline_leads_from_anywhere_else_when_told() -> None:
    line = modeline("run_config", below="../packs")
    assert line == "# yaml-language-server: $schema=../packs/.bfcl/schemas/run_config.schema.json"


def test_every_data_file_of_a_pack_has_a_schema() -> None:
    data: set[Role] = {"manifest", "tools", "fixtures", "templates", "validation_cases", "held_out"}
    names = {"task_templates" if role == "templates" else role for role in data}
    assert names <= set(NAMES)

"""How is a value written as YAML that a pack's reader reads back as the very same value?"""

from __future__ import annotations

import re
from typing import Final

import yaml

from bfcl.canonical import Json, canonical_json
from bfcl.located import parse_yaml

_WIDTH: Final = 110
_NUMBER_LIKE: Final = re.compile(r"[-+.]?[0-9][0-9._eE+-]*\Z")
"""Texts our reader might take for a number where PyYAML, whose numbers are spelt otherwise, would leave quotes out."""


class _Dumper(yaml.SafeDumper):
    """Block style, keys in the order given, every text that any YAML reader could take for something else quoted."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 PyYAML's signature
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        super().increase_indent(flow, indentless=False)


def _text_node(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "'" if _NUMBER_LIKE.match(text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text_node)


def yaml_text(value: Json) -> str:
    """The value as YAML, ended by a line feed.

    Raises: UnicodeEncodeError for a lone surrogate; ValueError where it would not read back equal.
    """
    # PyYAML would spell a surrogate out, in a way that no reader takes.
    canonical_json(value)
    text: str = yaml.dump(value, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=_WIDTH)
    if parse_yaml(text.encode(), path="generated", code="pack_parse_error").value != value:
        raise ValueError(f"not expressible as YAML: {value!r}")
    return text

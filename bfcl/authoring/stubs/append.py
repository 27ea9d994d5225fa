"""How does a stub get into a pack's file without touching a byte of what is there already? Rule: authoring.md §15.

Each function returns the file's new bytes, or refuses where text cannot be added safely: what results is parsed again
and must hold exactly the old content and the new.
"""

from __future__ import annotations

import ast
import json
import warnings
from collections.abc import Sequence

from bfcl.authoring.stubs.code import NewAssertion
from bfcl.authoring.yaml_text import yaml_text
from bfcl.canonical import Json
from bfcl.errors import BfclError, ConfigError, Problem
from bfcl.located import parse_json, parse_yaml


def appended_yaml(data: bytes, entries: Sequence[Json], shown: str) -> bytes:
    """A YAML list with `entries` behind its last. Raises: ConfigError `append_impossible`."""
    before = _parsed(data, shown)
    addition = yaml_text(list(entries)).encode()
    text = data if data.endswith(b"\n") or not data else data + b"\n"
    # Some authors indent the items of a list at the root; a new one has to stand below them.
    for indent in (b"", b"  ", b"    "):
        lines = addition.splitlines(keepends=True)
        grown = text + b"\n" + b"".join(indent + line for line in lines)
        try:
            value = parse_yaml(grown, path=shown, code="pack_parse_error").value
        except BfclError:
            continue
        if value == [*before, *entries]:
            return grown
    raise _refusal(
        shown, "its list is not written item below item", "write it as a block list, or add the text by hand"
    )


def _parsed(data: bytes, shown: str) -> list[Json]:
    value = parse_yaml(data, path=shown, code="pack_parse_error").value
    if value is None:
        return []
    if not isinstance(value, list):
        raise _refusal(shown, "it holds no list", "mend the file first")
    return value


def appended_json(data: bytes, entry: Json, shown: str) -> bytes:
    """A JSON array with `entry` behind its last. Raises: ConfigError `append_impossible`."""
    before = parse_json(data, path=shown, code="pack_parse_error").value
    if not isinstance(before, list):
        raise _refusal(shown, "it holds no array", "mend the file first")
    text = data.decode()
    end = text.rindex("]")
    body = text[:end].rstrip()
    addition = "\n".join(f"  {line}" for line in json.dumps(entry, ensure_ascii=False, indent=2).split("\n"))
    grown = f"{body}{',' if before else ''}\n{addition}\n]{text[end + 1 :]}".encode()
    if parse_json(grown, path=shown, code="pack_parse_error").value != [*before, entry]:
        raise _refusal(shown, "the array's end was not found", "add the text by hand")
    return grown


def appended_assertion(data: bytes, new: NewAssertion, shown: str) -> bytes:
    """A Python module with the function at its end and its name in the literal exports and capabilities it has.

    Raises: ConfigError `append_impossible` where the module does not parse, has the name already, or exports by a
    dictionary that is not written out.
    """
    text = data.decode()
    tree = _tree(text, shown)
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    if new.name in names:
        raise _refusal(shown, f"it has a function `{new.name}` already", "choose another name")
    inserts: list[tuple[ast.Dict, str]] = []
    for target, value in (("ASSERTIONS", new.name), ("ASSERTION_CAPABILITIES", new.capability)):
        node = _assigned(tree, target)
        if node is None:
            continue
        if not isinstance(node, ast.Dict):
            raise _refusal(shown, f"`{target}` is not written out as a dictionary", "add the text by hand")
        inserts.append((node, f'    "{new.name}": {value},\n'))
    # The exports name the function, so they have to stand behind it.
    exports = _assigned(tree, "ASSERTIONS")
    lines = text.splitlines(keepends=True)
    for node, line in sorted(inserts, key=lambda one: one[0].lineno, reverse=True):
        _insert(lines, node, line, shown)
    function = f"\n{new.source}"
    if exports is None:
        grown = "".join(lines).rstrip("\n") + "\n" + function
    else:
        at = next(one for one in tree.body if one.end_lineno and one.lineno <= exports.lineno <= one.end_lineno).lineno
        # Inserts above the assignment moved it down.
        at += sum(node.lineno < at for node, _ in inserts)
        grown = "".join([*lines[: at - 1], new.source.lstrip("\n"), "\n\n", *lines[at - 1 :]])
    _tree(grown, shown)
    return grown.encode()


def _insert(lines: list[str], node: ast.Dict, line: str, shown: str) -> None:
    """Put an entry before the closing brace, which must stand on a line of its own behind a comma."""
    assert node.end_lineno is not None
    closing = lines[node.end_lineno - 1]
    before = lines[node.end_lineno - 2].split("#")[0].rstrip()
    if closing.strip() != "}" or not before.endswith((",", "{")):
        fix = "write one entry a line, each with a comma, the closing brace below them"
        raise _refusal(shown, f"the dictionary at line {node.lineno} is not written one entry a line", fix)
    lines.insert(node.end_lineno - 1, line)


def _assigned(tree: ast.Module, name: str) -> ast.expr | None:
    for node in tree.body:
        if isinstance(node, ast.Assign):
            if any(isinstance(target, ast.Name) and target.id == name for target in node.targets):
                return node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == name:
            return node.value
    return None


def _tree(text: str, shown: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError) as error:
        raise _refusal(shown, f"it is no Python module: {error}", "mend the file first") from None


def _refusal(shown: str, message: str, fix: str) -> ConfigError:
    return ConfigError(Problem(code="append_impossible", path=shown, message=f"nothing was added: {message}", fix=fix))

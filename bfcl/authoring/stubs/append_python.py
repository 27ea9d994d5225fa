"""How does an assertion get into a module that exists, among its exports? Rule: authoring.md §15.

Nothing that stands there is changed: the function is put above the exports, an entry into each literal dictionary.
"""

from __future__ import annotations

import ast
import io
import re
import symtable
import tokenize
import warnings
from collections.abc import Iterator
from typing import Final, NamedTuple

from bfcl.authoring.stubs.code import NewAssertion
from bfcl.authoring.stubs.named import refused_addition

_TABLES: Final = ("ASSERTIONS", "ASSERTION_CAPABILITIES")
_OF_THE_FILE: Final = re.compile(r"#!|#.*coding[:=]")
"""Comments that mean something only on the first lines."""
_BLANK: Final = frozenset({tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT})


def appended_assertion(data: bytes, new: NewAssertion, shown: str) -> bytes:
    """The module with the function above its exports and its name in the exports and capabilities it writes out.

    Encoding, byte order mark and line ends stay the file's own.
    Raises: ConfigError `append_impossible` where the module does not parse, has the name already, or exports by a
    dictionary that is not written out.
    """
    source = _read(data, shown)
    tree = _tree(source.text, shown)
    _refuse_taken(source.text, tree, new.name, shown)
    inserts: list[tuple[ast.Dict, str]] = []
    for target, value in zip(_TABLES, (new.name, new.capability), strict=True):
        node = _assigned(tree, target)
        if node is None:
            continue
        if not isinstance(node, ast.Dict):
            raise refused_addition(shown, f"`{target}` is not written out as a dictionary", "add the text by hand")
        inserts.append((node, f'    "{new.name}": {value},\n'))
    # By line feeds alone, as Python counts lines: a form feed is part of one.
    lines = io.StringIO(source.text, newline="").readlines()
    for node, line in sorted(inserts, key=lambda one: one[0].lineno, reverse=True):
        _insert(lines, node, line, shown)
    # The exports name the function, so they have to stand behind it.
    exports = _assigned(tree, _TABLES[0])
    if exports is None:
        grown = "".join(lines).rstrip("\n") + f"\n\n{new.source}"
    else:
        at = next(one for one in tree.body if one.end_lineno and one.lineno <= exports.lineno <= one.end_lineno).lineno
        # Inserts above the assignment moved it down.
        at += sum(node.lineno < at for node, _ in inserts)
        while at > 1 and lines[at - 2].startswith("#") and not (at <= 3 and _OF_THE_FILE.match(lines[at - 2])):
            at -= 1  # a comment right above speaks of the exports and stays with them
        grown = "".join([*lines[: at - 1], new.source.lstrip("\n"), "\n\n", *lines[at - 1 :]])
    _tree(grown, shown)
    return source.written(grown, shown)


# --- text -----------------------------------------------------------------------------------------------------------


class _Source(NamedTuple):
    """A module's text, its lines ended by line feeds, and how the file writes it."""

    text: str
    encoding: str
    end: str

    def written(self, text: str, shown: str) -> bytes:
        try:
            return text.replace("\n", self.end).encode(self.encoding)
        except UnicodeEncodeError:
            message = f"the file is {self.encoding}, which has no form for a character of the addition"
            raise refused_addition(shown, message, "write the file as UTF-8") from None


def _read(data: bytes, shown: str) -> _Source:
    """The text as Python reads it: by its coding cookie or byte order mark, else UTF-8."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        raw = data.decode(encoding)
    except (SyntaxError, UnicodeError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else str(error)
        raise refused_addition(shown, f"it cannot be decoded: {reason}", "save the file as UTF-8") from None
    text = raw.replace("\r\n", "\n").replace("\r", "\n")
    end = next((end for end in ("\r\n", "\n", "\r") if end in raw), "\n")
    if text.replace("\n", end) != raw:
        fix = "give every line the same end (LF), or add the text by hand"
        raise refused_addition(shown, "its lines end in different ways", fix)
    return _Source(text, encoding, end)


def _insert(lines: list[str], node: ast.Dict, line: str, shown: str) -> None:
    """Put an entry before the closing brace, which must stand on a line of its own behind a comma."""
    assert node.end_lineno is not None
    code = list(_significant(lines, before=node.end_lineno))
    if lines[node.end_lineno - 1].split("#")[0].strip() != "}" or not code or code[-1].string not in (",", "{"):
        fix = "write one entry a line, each with a comma, the closing brace below them"
        raise refused_addition(shown, f"the dictionary at line {node.lineno} is not written one entry a line", fix)
    lines.insert(node.end_lineno - 1, line)


def _significant(lines: list[str], *, before: int) -> Iterator[tokenize.TokenInfo]:
    """The tokens that say something on the lines before one."""
    for token in tokenize.generate_tokens(iter(lines).__next__):
        if token.start[0] >= before:
            return
        if token.type not in _BLANK:
            yield token


# --- syntax tree ----------------------------------------------------------------------------------------------------


def _refuse_taken(text: str, tree: ast.Module, name: str, shown: str) -> None:
    """Refuse a name that the module binds, imports, or writes out as a key: the addition would replace it."""
    symbols = symtable.symtable(text, shown, "exec").get_symbols()
    bound = {one.get_name() for one in symbols if one.is_assigned() or one.is_imported()}
    if name in bound:
        raise refused_addition(shown, f"it binds `{name}` already", "choose another name")
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value == name:
            message = f"it has `{name}` already, at line {node.lineno}"
            raise refused_addition(shown, message, "choose another name")


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
            tree = ast.parse(text, filename=shown)
            # What only compiling refuses, such as a `return` outside of a function.
            compile(tree, shown, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise refused_addition(shown, f"it is no Python module: {error}", "mend the file first") from None
    return tree

"""What does a pack say about its assertions? `ASSERTION_CAPABILITIES`, read from the syntax tree. Rule: pack.md §9."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from bfcl.errors import Problem, did_you_mean

Category: TypeAlias = Literal["state", "path", "result", "final_answer", "unclassified"]
CATEGORIES: tuple[Category, ...] = get_args(Category)
_NAME = "ASSERTION_CAPABILITIES"
_FLAGS = ("trace", "executable")


@dataclass(frozen=True, slots=True, kw_only=True)
class Capability:
    """What one assertion reads and whether it can be executed at replay."""

    trace: bool = False
    executable: bool = True
    category: Category = "unclassified"


class Capabilities(NamedTuple):
    """Declared capabilities by assertion name; `invalid_assertion_capability` problems in source order."""

    entries: Mapping[str, Capability]
    problems: tuple[Problem, ...]


class _Fault(NamedTuple):
    line: int
    message: str
    fix: str | None = None


def read_capabilities(source: bytes, shown: str, exported: Collection[str] | None = None) -> Capabilities:
    """Read the one literal assignment of `ASSERTION_CAPABILITIES`; nothing is executed.

    `exported` holds the names of the pack's assertions where they are known: others are refused. A file that is no
    Python declares nothing here; importing it reports why.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
            faults, value = _assignment(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Capabilities({}, ())
    entries: dict[str, Capability] = {}
    if value is not None:
        faults += _entries(value, entries, exported)
    problems = tuple(
        Problem(
            code="invalid_assertion_capability",
            message=fault.message,
            path=shown,
            line=fault.line,
            field=_NAME,
            fix=fault.fix,
        )
        for fault in sorted(faults, key=lambda fault: fault.line)
    )
    return Capabilities(entries, problems)


def _assignment(tree: ast.Module) -> tuple[list[_Fault], ast.expr | None]:
    """The value of the module-level assignment; a fault for every other place that binds or changes the name."""
    value: ast.expr | None = None
    accepted: ast.expr | None = None
    for statement in tree.body:
        target, assigned = _plain_assignment(statement)
        if target is not None and value is None:
            accepted, value = target, assigned
    faults = []
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Name)
            and node.id == _NAME
            and node is not accepted
            and not isinstance(node.ctx, ast.Load)
        ):
            faults.append(_Fault(node.lineno, f"`{_NAME}` is bound here; expected one module-level literal assignment"))
        elif isinstance(node, ast.Subscript | ast.Attribute) and _is_changed(node):
            faults.append(
                _Fault(node.lineno, f"`{_NAME}` is changed here; expected one module-level literal assignment")
            )
    return faults, value


def _plain_assignment(statement: ast.stmt) -> tuple[ast.expr | None, ast.expr | None]:
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target, value = statement.targets[0], statement.value
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        target, value = statement.target, statement.value
    else:
        return None, None
    if isinstance(target, ast.Name) and target.id == _NAME:
        return target, value
    return None, None


def _is_changed(node: ast.Subscript | ast.Attribute) -> bool:
    if not (isinstance(node.value, ast.Name) and node.value.id == _NAME):
        return False
    changing = ("update", "setdefault", "pop", "popitem", "clear", "__setitem__")
    return not isinstance(node.ctx, ast.Load) or (isinstance(node, ast.Attribute) and node.attr in changing)


def _entries(node: ast.expr, entries: dict[str, Capability], exported: Collection[str] | None) -> list[_Fault]:
    if not isinstance(node, ast.Dict):
        return [_Fault(node.lineno, f"`{_NAME}` is {_said(node)}; expected a literal dict")]
    faults = []
    for key, value in zip(node.keys, node.values, strict=True):
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            line = value.lineno if key is None else key.lineno
            faults.append(_Fault(line, f"a key of `{_NAME}` is computed; expected literal assertion names"))
            continue
        name = key.value
        if name in entries:
            faults.append(_Fault(key.lineno, f"`{name}` is given twice", "keep one of the two"))
        if exported is not None and name not in exported:
            message = f"`{name}` is not an exported assertion"
            faults.append(_Fault(key.lineno, message, did_you_mean(name, exported)))
        capability, own = _capability(name, value)
        faults += own
        entries[name] = capability
    return faults


def _capability(name: str, node: ast.expr) -> tuple[Capability, list[_Fault]]:
    if not isinstance(node, ast.Dict):
        return Capability(), [_Fault(node.lineno, f"`{name}` is {_said(node)}; expected a literal dict")]
    faults = []
    fields: dict[str, Any] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        field = key.value if isinstance(key, ast.Constant) else None
        line = value.lineno
        if field not in (*_FLAGS, "category"):
            said = "a computed field" if key is None else f"the field {_said(key)}"
            fix = did_you_mean(field, (*_FLAGS, "category")) if isinstance(field, str) else None
            faults.append(_Fault(line, f"`{name}` has {said}; expected trace, executable, category", fix))
        elif field in fields:
            faults.append(_Fault(line, f"`{name}.{field}` is given twice", "keep one of the two"))
        elif field in _FLAGS and not (isinstance(value, ast.Constant) and isinstance(value.value, bool)):
            faults.append(_Fault(line, f"`{name}.{field}` is {_said(value)}; expected True or False"))
        elif field == "category" and not (isinstance(value, ast.Constant) and value.value in CATEGORIES):
            seen = value.value if isinstance(value, ast.Constant) else None
            fix = did_you_mean(seen, CATEGORIES) if isinstance(seen, str) else None
            message = f"`{name}.category` is {_said(value)}; expected one of {', '.join(CATEGORIES)}"
            faults.append(_Fault(line, message, fix))
        elif isinstance(value, ast.Constant):
            fields[str(field)] = value.value
    return Capability(**fields), faults


def _said(node: ast.expr) -> str:
    shown = ast.unparse(node)
    return f"`{shown if len(shown) <= 40 else shown[:37] + '...'}`"

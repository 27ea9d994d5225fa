"""Which lines of a pack may let ambient state into an answer? A scan that explains, never judges. Rule: ruling 7."""

from __future__ import annotations

import ast
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

_CLOCK = {
    "time.time": "wall clock",
    "time.time_ns": "wall clock",
    "time.monotonic": "ticking clock",
    "time.monotonic_ns": "ticking clock",
    "time.perf_counter": "ticking clock",
    "time.perf_counter_ns": "ticking clock",
    "time.process_time": "ticking clock",
    "time.process_time_ns": "ticking clock",
    "time.thread_time": "ticking clock",
    "time.thread_time_ns": "ticking clock",
    "time.clock_gettime": "machine's clock",
    "time.clock_gettime_ns": "machine's clock",
    "os.times": "ticking clock",
    "os.path.getmtime": "time of a file",
    "os.path.getctime": "time of a file",
    "os.path.getatime": "time of a file",
    "time.localtime": "wall clock",
    "time.gmtime": "wall clock",
    "time.ctime": "wall clock",
    "time.strftime": "wall clock",
    "datetime.datetime.now": "wall clock",
    "datetime.datetime.utcnow": "wall clock",
    "datetime.datetime.today": "wall clock",
    "datetime.date.today": "wall clock",
}
_ENVIRONMENT = {
    "os.environ": "environment",
    "os.getenv": "environment",
    "os.getcwd": "working directory",
    "os.getpid": "process id",
    "os.uname": "machine name",
    "os.cpu_count": "machine size",
    "platform.node": "machine name",
    "socket.gethostname": "machine name",
    "tempfile.gettempdir": "temporary directory",
    "tempfile.mkdtemp": "temporary directory",
    "pathlib.Path.home": "home directory",
    "pathlib.Path.cwd": "working directory",
}
_ENTROPY_MODULES = ("random", "secrets", "uuid")
_ENTROPY = ("os.urandom", "os.getrandom")
_SEEDED = {"random.Random", "random.seed", "uuid.UUID", "uuid.uuid3", "uuid.uuid5", "uuid.NAMESPACE_URL"}
_SEEDED |= {"uuid.NAMESPACE_DNS", "uuid.NAMESPACE_OID", "uuid.NAMESPACE_X500"}
_NAMED = {**_CLOCK, **_ENVIRONMENT}
_FILE_TIMES = {f"st_{kind}time{unit}" for kind in ("m", "c", "a", "birth") for unit in ("", "_ns")}
_SQL_CLOCK = re.compile(r"""['"]now['"]|\bCURRENT_(?:DATE|TIME|TIMESTAMP)\b""", re.IGNORECASE)
_STATEMENT = re.compile(r"\b(?:select|insert|update|replace|create|alter|delete)\b", re.IGNORECASE)
"""What a text holds that is handed to a database, and not an answer's field or a page's words."""
_IDENTITY = {"id": "object address", "hash": "hash value, which differs by hash seed for text"}
_SET_MAKERS = ("set", "frozenset")
_SET_METHODS = ("union", "intersection", "difference", "symmetric_difference")
_ORDERED_READERS = ("list", "tuple", "iter", "enumerate", "next", "map", "zip", "reversed")
_ORDER_FREE = ("sorted", "set", "frozenset", "any", "all", "len", "min", "max")
_CHANGING_METHODS = {
    *("add", "append", "appendleft", "clear", "discard", "extend", "insert"),
    *("pop", "popitem", "popleft", "remove", "setdefault", "sort", "update"),
}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def scan(view: str, files: Sequence[str]) -> tuple[str, ...]:
    """`file:line: what`, sorted by file and line, for the Python files of the view and declared files outside it."""
    root = Path(view)
    sources = {path: path.relative_to(root).as_posix() for path in root.rglob("*.py") if path.is_file()}
    sources.update({Path(file): Path(file).name for file in files if not Path(file).is_relative_to(root)})
    found: list[tuple[str, int, str]] = []
    for path, name in sources.items():
        try:
            source = path.read_bytes()
        except OSError:
            continue  # importing it tells more
        found.extend((name, line, what) for line, what in suspect_lines(source))
    return tuple(f"{name}:{line}: {what}" for name, line, what in sorted(set(found)))


def suspect_lines(source: bytes) -> list[tuple[int, str]]:
    """Line and reason of each suspect line of a module, sorted, each once; none where it does not compile."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return sorted(set(_Suspicion(tree).lines()))


class _Suspicion:
    """One module's suspect lines."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._aliases = dict(_imported_names(tree))
        self._sets = _names_of_sets(tree)

    def lines(self) -> Iterator[tuple[int, str]]:
        yield from self._module_state()
        orderless = set(_orderless(self._tree))
        for node in ast.walk(self._tree):
            if isinstance(node, (ast.Attribute, ast.Name)):
                yield from self._ambient(node)
            if isinstance(node, ast.Call) and node not in orderless:
                yield from self._call(node)
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield from self._sql(node.value, node.lineno)
            if isinstance(node, (ast.For, ast.comprehension)) and self._is_set(node.iter) and node not in orderless:
                yield node.iter.lineno, "iterates over a set: its order follows the hash seed"

    def _dotted(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Name):
            return self._aliases.get(node.id)
        if isinstance(node, ast.Attribute) and (base := self._dotted(node.value)) is not None:
            return f"{base}.{node.attr}"
        return None

    def _sql(self, text: str, line: int) -> Iterator[tuple[int, str]]:
        for found in _SQL_CLOCK.finditer(text) if _STATEMENT.search(text) else ():
            yield line, f"reads the clock in SQL: `{found[0]}`"

    def _ambient(self, node: ast.Attribute | ast.Name) -> Iterator[tuple[int, str]]:
        if isinstance(node, ast.Attribute) and node.attr in _FILE_TIMES:
            yield node.lineno, f"reads the time of a file: `{node.attr}`"
        elif isinstance(node, ast.Name) and node.id == "__file__":
            yield node.lineno, "reads the path of the pack: `__file__`"
        name = self._dotted(node)
        if name is None:
            return
        if name in _NAMED:
            yield node.lineno, f"reads the {_NAMED[name]}: `{name}`"
        elif name in _ENTROPY or (
            name.count(".") == 1 and name not in _SEEDED and name.split(".")[0] in _ENTROPY_MODULES
        ):
            yield node.lineno, f"draws entropy: `{name}`"

    def _call(self, node: ast.Call) -> Iterator[tuple[int, str]]:
        name = node.func.id if isinstance(node.func, ast.Name) else None
        if name in _IDENTITY and name not in self._aliases:
            yield node.lineno, f"reads an {_IDENTITY[name]}" if name == "id" else f"reads a {_IDENTITY[name]}"
        joins = isinstance(node.func, ast.Attribute) and node.func.attr == "join"
        if (name in _ORDERED_READERS or joins) and any(self._is_set(argument) for argument in node.args):
            yield node.lineno, "turns a set into a sequence: its order follows the hash seed"
        if isinstance(node.func, ast.Attribute) and node.func.attr == "pop" and self._is_set(node.func.value):
            yield node.lineno, "pops from a set: which element follows the hash seed"
        if self._dotted(node.func) == "random.Random" and not node.args:
            yield node.lineno, "draws entropy: `random.Random` without a seed"

    def _is_set(self, node: ast.expr) -> bool:
        if not isinstance(node, ast.Name):
            return _makes_set(node)
        known = [(sets, bound) for lines, sets, bound in self._sets if node.lineno in lines]
        return next((node.id in sets for sets, bound in reversed(known) if node.id in sets | bound), False)

    def _module_state(self) -> Iterator[tuple[int, str]]:
        changed = _names_changed_in_functions(self._tree) - _names_reset(self._tree)
        for statement in self._tree.body:
            for name, _ in _assigned(statement):
                if name in changed:
                    yield statement.lineno, f"module-level state `{name}` is changed by functions and not by `reset`"


def _imported_names(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield (alias.asname, alias.name) if alias.asname else (alias.name.split(".")[0],) * 2
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def _orderless(tree: ast.Module) -> Iterator[ast.AST]:
    """Comprehensions and calls whose order nobody sees: what they give goes into a set, or is sorted or added up."""
    for node in ast.walk(tree):
        if isinstance(node, ast.SetComp):
            yield from node.generators
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _ORDER_FREE:
            for argument in node.args:
                if isinstance(argument, (ast.GeneratorExp, ast.ListComp)):
                    yield from argument.generators
                elif isinstance(argument, ast.Call):
                    yield argument


def _makes_set(node: ast.expr) -> bool:
    if isinstance(node, (ast.Set, ast.SetComp)):
        return True
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitOr, ast.BitAnd, ast.Sub, ast.BitXor)):
        return _makes_set(node.left) or _makes_set(node.right)
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name):
            return node.func.id in _SET_MAKERS
        return isinstance(node.func, ast.Attribute) and node.func.attr in _SET_METHODS
    return False


def _assigned(statement: ast.stmt) -> Iterator[tuple[str, ast.expr | None]]:
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            if isinstance(target, ast.Name):
                yield target.id, statement.value
    elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        yield statement.target.id, statement.value


def _names_of_sets(tree: ast.Module) -> list[tuple[range, set[str], set[str]]]:
    """Per scope, inner ones last: its lines, the names it binds to sets, and all names it binds."""
    scopes = [node for node in ast.walk(tree) if isinstance(node, _FUNCTIONS)]
    # `walk` goes level by level, so that an inner function comes after the one around it.
    return [_scope(tree, range(1, sys.maxsize)), *(_scope(one, _lines(one)) for one in scopes)]


def _lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _scope(node: ast.Module | ast.FunctionDef | ast.AsyncFunctionDef, lines: range) -> tuple[range, set[str], set[str]]:
    sets: set[str] = set()
    bound: set[str] = set()
    if not isinstance(node, ast.Module):
        given = node.args
        named = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
        bound |= {one.arg for one in named}
    waiting: list[ast.AST] = list(node.body)
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, ast.stmt):
            for name, value in _assigned(inner):
                bound.add(name)
                if value is not None and _makes_set(value):
                    sets.add(name)
        if not isinstance(inner, (*_FUNCTIONS, ast.Lambda)):
            waiting += ast.iter_child_nodes(inner)
    return lines, sets, bound


def _names_changed_in_functions(tree: ast.Module) -> set[str]:
    """Module-level names that some function rebinds, or whose object it changes in place."""
    found: set[str] = set()
    for function in ast.walk(tree):
        if isinstance(function, _FUNCTIONS):
            changed = {name for node in ast.walk(function) for name in _names_changed(node)}
            rebound = {name for node in ast.walk(function) if isinstance(node, ast.Global) for name in node.names}
            _, _, bound = _scope(function, _lines(function))
            # A name of the function's own hides the module's.
            found |= changed - (bound - rebound)
    return found


def _names_changed(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Global):
        yield from node.names
    elif isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, (ast.Store, ast.Del)):
        yield from _base_name(node.value)
    elif isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGING_METHODS:
            yield from _base_name(node.func.value)
        elif isinstance(node.func, ast.Name) and node.func.id == "next" and node.args:
            yield from _base_name(node.args[0])


def _base_name(node: ast.expr) -> Iterator[str]:
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    if isinstance(node, ast.Name):
        yield node.id


def _names_reset(tree: ast.Module) -> set[str]:
    """Every name that `reset`, or a function of the module it calls, mentions."""
    functions = {node.name: node for node in tree.body if isinstance(node, _FUNCTIONS)}
    mentioned: set[str] = set()
    todo = ["reset"]
    while todo:
        function = functions.pop(todo.pop(), None)
        if function is not None:
            names = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
            mentioned |= names
            todo.extend(names & functions.keys())
    return mentioned

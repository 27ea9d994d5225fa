"""Which tool of the catalog is meant, and how is a stub refused?"""

from __future__ import annotations

from bfcl.errors import ConfigError, Problem, did_you_mean
from bfcl.pack.model import Pack
from bfcl.records.tool import Tool


def named_tool(pack: Pack, name: str, *, of: str) -> Tool:
    """The catalog entry called `name`. Raises: ConfigError `stub_impossible` about the stub called `of`."""
    tool = pack.tool(name)
    if tool is None:
        names = [one.name for one in pack.tools]
        fix = did_you_mean(name, names) or f"use one of {', '.join(names)}"
        raise refused_stub(of, f"the catalog has no tool `{name}`", fix)
    return tool


def refused_stub(of: str, message: str, fix: str | None = None) -> ConfigError:
    """`stub_impossible` about the stub called `of`."""
    return ConfigError(Problem(code="stub_impossible", subject=of, message=message, fix=fix))


def refused_addition(shown: str, message: str, fix: str) -> ConfigError:
    """`append_impossible` about a file."""
    return ConfigError(Problem(code="append_impossible", path=shown, message=f"nothing was added: {message}", fix=fix))

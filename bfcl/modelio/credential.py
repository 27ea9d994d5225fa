"""What opens a provider's door? Named by a variable, read at need, never shown. Rule: translation.md §13.3."""

from __future__ import annotations

from collections.abc import Mapping

from bfcl.errors import ModelError, Problem


class Credential:
    """The value behind a variable's name. It is held by nobody: each request reads it anew."""

    __slots__ = ("_environment", "variable")

    def __init__(self, variable: str, environment: Mapping[str, str]) -> None:
        self.variable = variable
        self._environment = environment

    def __repr__(self) -> str:
        return f"Credential({self.variable}=<redacted>)"

    def fault(self) -> str | None:
        """Why it cannot be used now, in words for behind its variable's name; None where it can."""
        value = self._environment.get(self.variable, "")
        if not value.strip():
            return "is not set"
        usable = value.isascii() and value.isprintable() and value == value.strip()
        return None if usable else "holds what no HTTP header can carry"

    def reveal(self) -> str:
        """The value, for a header and nothing else.

        Raises: ModelError `model_credential_missing` where it is unset, blank, or holds what no header can carry.
        """
        seen = self.fault()
        if seen is None:
            return self._environment[self.variable]
        raise ModelError(
            Problem(
                code="model_credential_missing",
                message=f"the environment variable that the registry names {seen}",
                subject=self.variable,
                fix=f"export {self.variable} with the provider's key, then run the same command again",
            )
        )

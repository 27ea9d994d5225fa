"""Whose weights does a model have, told so that a scoring configuration can state it? Rule: evaluation.md §12.

No digest is ever made of a name: what nothing pins stays `provider_managed`, and bars publication.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import yaml

from bfcl.canonical import Json
from bfcl.errors import ConfigError, EvalError, Problem, raise_all
from bfcl.evaluate.after.registry import HUB, commit_of
from bfcl.evaluate.after.weights import digest_of_tree
from bfcl.evaluate.settings.model import Assurance, Identity
from bfcl.evaluate.settings.reading import ALIAS
from bfcl.files import AlreadyThereError, create_files
from bfcl.pack.layout import shown

INVALID: Final = "candidate_identity_invalid"

_HUB_MODEL: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)?")
_WIDTH: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """An identity block and what it is good for."""

    identity: Identity

    @property
    def pin(self) -> str | None:
        """What pins the weights, or None."""
        return self.identity.weights_digest or self.identity.revision

    @property
    def assurance(self) -> Assurance:
        return "provider_managed" if self.pin is None else "weights_pinned"

    @property
    def canonical_id(self) -> str:
        """As the loader of scoring configurations makes it of the same block."""
        return f"{self.identity.source}:{self.identity.model}@{self.pin or 'provider_managed'}"

    @property
    def gate(self) -> Literal["satisfied", "blocked"]:
        """Whether a candidate of this identity may be in a published result."""
        return "blocked" if self.pin is None else "satisfied"

    def block(self) -> dict[str, str | None]:
        """The value of `model_identity`."""
        identity = self.identity
        return {
            "source": identity.source,
            "model": identity.model,
            "revision": identity.revision,
            "weights_digest": identity.weights_digest,
        }

    def to_json(self) -> dict[str, Json]:
        return {
            "status": "pass",
            "model_identity": self.block(),
            "assurance": self.assurance,
            "canonical_id": self.canonical_id,
            "identity_publication_gate": self.gate,
        }

    def fragment(self) -> str:
        """The block as YAML, to be pasted into a candidate."""
        block: str = yaml.safe_dump({"model_identity": self.block()}, sort_keys=False, allow_unicode=True, width=_WIDTH)
        return block


def from_registry(model: str, revision: str, source: str, *, hub: str = HUB) -> Resolved:
    """The commit that a revision of a model on the hub means now.

    Raises: EvalError `candidate_identity_invalid` for a name that cannot be one, `model_identity_unresolved`.
    """
    _check(source, model)
    if not _HUB_MODEL.fullmatch(model):
        raise EvalError(_invalid("model", model, "expected `<organisation>/<model>` as the hub shows it"))
    commit = commit_of(model, revision, hub=hub)
    return Resolved(identity=Identity(source=source, model=model, revision=commit, weights_digest=None))


def from_weights(model: str, directory: Path, source: str) -> Resolved:
    """The digest of a directory of weights.

    Raises: EvalError `candidate_identity_invalid`, `weights_tree_unsupported`.
    """
    _check(source, model)
    digest = digest_of_tree(directory).digest
    return Resolved(identity=Identity(source=source, model=model, revision=None, weights_digest=digest))


def from_provider(model: str, source: str) -> Resolved:
    """A model whose weights its provider answers for. Raises: EvalError `candidate_identity_invalid`."""
    _check(source, model)
    return Resolved(identity=Identity(source=source, model=model, revision=None, weights_digest=None))


def write_fragment(resolved: Resolved, output: Path) -> None:
    """Write the YAML fragment to a path where nothing is yet.

    Raises: ConfigError `target_exists`, StageError `storage_failed`.
    """
    try:
        create_files(output.parent, {output.name: resolved.fragment().encode()})
    except AlreadyThereError:
        message = "is there already; expected a path where nothing is"
        fix = "choose another path; nothing that exists is overwritten"
        raise ConfigError(Problem(code="target_exists", path=shown(output), message=message, fix=fix)) from None


def _check(source: str, model: str) -> None:
    problems = []
    if not ALIAS.fullmatch(source):
        expected = "expected 1 to 64 of a-z, 0-9, `.`, `_` and `-`, the first a letter or a digit"
        problems.append(_invalid("source", source, expected))
    if not model or model != model.strip() or not model.isprintable():
        problems.append(_invalid("model", model, "expected a printable name without blanks around it"))
    raise_all(EvalError, problems)


def _invalid(option: str, seen: str, expected: str) -> Problem:
    return Problem(
        code=INVALID,
        subject=f"--{option}",
        field=f"model_identity.{option}",
        message=f"is {seen!r}; {expected}",
        fix=f"give --{option} as a scoring configuration would state it",
    )

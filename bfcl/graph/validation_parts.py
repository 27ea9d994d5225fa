"""What may a check read of a pack, a configuration and this machine, and what is the digest of it?"""

from __future__ import annotations

import functools
import json
import os
import resource
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from bfcl.canonical import Json
from bfcl.checks import review_markers
from bfcl.checks.report import settings_read
from bfcl.config.model import RunConfig
from bfcl.digest import Digest, blake3_json
from bfcl.oracle.pages import is_page
from bfcl.oracle.view import place_in_view, shown_entries
from bfcl.pack.model import CODE_ROLES, Pack, Role
from bfcl.pack.templates import template_json

_FILE_ROLES: Final[Mapping[str, tuple[Role, ...]]] = {
    "manifest": ("manifest", "system_prompt"),
    "tools": ("tools",),
    "templates": ("templates",),
    "fixtures": ("fixtures",),
    "validation_cases": ("validation_cases",),
    "held_out": ("held_out",),
}

SETTINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "config": ("clock", "worker", "timeouts", "random_seed"),
    "budget": ("task_generation",),
    "surface": ("surface_generation", "surface_quality_validation", "lineage_policy"),
}
"""Part to the settings of `settings_read` in it."""

VIEW_WITHOUT_PAGES: Final = "view_without_pages"
"""What the view comes to for code that looks at no page for people: decision 0009."""

_KERNEL: Final = (
    "/sys/kernel/security/lsm",
    "/proc/sys/user/max_user_namespaces",
    "/proc/sys/user/max_net_namespaces",
    "/proc/sys/kernel/unprivileged_userns_clone",
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
)
"""Settings of the kernel that decide what a world may give up."""


class Parts:
    """Digests of what a check may read of a pack and its configuration, each taken once."""

    def __init__(self, pack: Pack, config: RunConfig) -> None:
        self._pack = pack
        self._config = config
        self._templates = {str(template.template_id): index for index, template in enumerate(pack.templates)}
        self._known: dict[str, str] = {}
        self._whole: Mapping[str, Callable[[], Json]] = {
            "view": lambda: self._view(shown_entries(pack)),
            VIEW_WITHOUT_PAGES: lambda: self._view(_without_pages(shown_entries(pack))),
            **{part: functools.partial(self._settings, keys) for part, keys in SETTINGS.items()},
            "review_markers": lambda: [finding.to_json() for finding in review_markers.findings(pack)],
        }

    def digest(self, part: str) -> str:
        """BLAKE3 of a part. Raises KeyError for a part there is not."""
        known = self._known.get(part)
        if known is None:
            known = self._known[part] = blake3_json(self._value(part))
        return known

    def _value(self, part: str) -> Json:
        if part in self._whole:
            return self._whole[part]()
        kind, _, template_id = part.partition("/")
        if kind == "template":
            return self._template(self._templates[template_id])
        return {role: self._file(role) for role in _FILE_ROLES[part]}

    def _template(self, index: int) -> Json:
        """What it means, and what its author wrote: defaults hide what is not there."""
        declared = self._pack.documents["templates"].value
        written = declared[index] if isinstance(declared, list) else None
        return {"normalised": template_json(self._pack.templates[index]), "written": _written(written)}

    def _file(self, role: Role) -> Json:
        """The name that findings carry, and what the author wrote there; null where there is none.

        Of a data file the content counts and not its bytes: findings are placed anew, so a comment changes none.
        """
        pack = self._pack
        file = pack.files.get(role)
        if file is None:
            return None
        document = pack.documents.get(role)
        return [file.logical, pack.entries[file.logical] if document is None else _written(document.value)]

    def _view(self, entries: Mapping[str, str | None]) -> Json:
        pack = self._pack
        policy = pack.held_out
        withheld = policy is not None and not policy.fixtures_in_backend_state
        return {
            "entries": entries,
            "code": {role: place_in_view(pack.files[role]) for role in CODE_ROLES if role in pack.files},
            # Handed to `reset`, also where it lies outside the pack.
            "fixtures": self._file("fixtures"),
            "withheld": policy.fixtures if policy is not None and withheld else None,
        }

    def _settings(self, keys: Sequence[str]) -> Json:
        read = settings_read(self._config)
        return {key: read[key] for key in keys}


def _without_pages(entries: Mapping[str, Digest]) -> Mapping[str, str | None]:
    """The view's files, of pages for people the names alone: whether there is one shows without looking at it."""
    return {logical: None if is_page(logical.removeprefix("tree/")) else digest for logical, digest in entries.items()}


def _written(value: Json) -> str:
    """A value as text that keeps the order of its keys, which sorted JSON would not."""
    return json.dumps(value)


def shut_in() -> Json:
    """What decides how far this machine shuts pack code in, known without starting a world."""
    system = os.uname()
    return {
        "system": [system.sysname, system.release, system.machine, sys.platform],
        "fork": hasattr(os, "fork"),
        "rights": _lines_of("/proc/self/status", ("Uid", "Gid", "CapEff", "CapBnd", "NoNewPrivs", "Seccomp")),
        "limits": [
            resource.getrlimit(kind)[1]
            for kind in (resource.RLIMIT_AS, resource.RLIMIT_CORE, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE)
        ],
        "kernel": [_text(name) for name in _KERNEL],
    }


def _lines_of(path: str, names: tuple[str, ...]) -> list[str]:
    return [line for line in (_text(path) or "").splitlines() if line.partition(":")[0] in names]


def _text(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None

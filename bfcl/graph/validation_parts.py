"""What may a check read of a pack, a configuration and this machine, and what is the digest of it?"""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from bfcl.canonical import Json
from bfcl.checks import review_markers
from bfcl.checks.report import config_fingerprint
from bfcl.config.model import RunConfig
from bfcl.digest import blake3_json
from bfcl.errors import StageError
from bfcl.oracle.view import CODE_ROLES, place_in_view, shown_entries
from bfcl.pack.model import Pack, Role
from bfcl.pack.templates import template_json
from bfcl.stages.wording import render_language

_FILE_ROLES: Final[Mapping[str, tuple[Role, ...]]] = {
    "manifest": ("manifest", "system_prompt"),
    "tools": ("tools",),
    "templates": ("templates",),
    "fixtures": ("fixtures",),
    "validation_cases": ("validation_cases",),
    "held_out": ("held_out",),
}

_KERNEL: Final = (
    "/sys/kernel/security/lsm",
    "/proc/sys/user/max_user_namespaces",
    "/proc/sys/user/max_net_namespaces",
    "/proc/sys/kernel/unprivileged_userns_clone",
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
)
"""Settings of the kernel that decide what a world may give up."""


_LOOKS_AROUND: Final = re.compile(rb"README|validate\.yaml|listdir|scandir|iterdir|glob|walk", re.IGNORECASE)
"""What a pack's Python says where it might come to read the pages written for people."""


class Parts:
    """Digests of what a check may read of a pack and its configuration, each taken once."""

    def __init__(self, pack: Pack, config: RunConfig) -> None:
        self._pack = pack
        self._config = config
        self._templates = {str(template.template_id): index for index, template in enumerate(pack.templates)}
        self._known: dict[str, str] = {}
        self._whole: Mapping[str, Callable[[], Json]] = {
            "view": self._view,
            "config": self._settings,
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

    def _view(self) -> Json:
        pack = self._pack
        policy = pack.held_out
        withheld = policy is not None and not policy.fixtures_in_backend_state
        return {
            "entries": self._read_by_code(),
            "code": {role: place_in_view(pack.files[role]) for role in CODE_ROLES if role in pack.files},
            # Handed to `reset`, also where it lies outside the pack.
            "fixtures": self._file("fixtures"),
            "withheld": policy.fixtures if policy is not None and withheld else None,
        }

    def _read_by_code(self) -> Mapping[str, str]:
        """The view's files, without the pages for people in the pack root where no Python in it could come to them.

        An edit to a README then reruns nothing; the gate of generation goes by the whole view all the same.
        """
        shown = dict(shown_entries(self._pack))
        code = [name for name in shown if name.endswith(".py")]
        if any(_LOOKS_AROUND.search(self._bytes(name)) for name in code):
            return shown
        return {name: digest for name, digest in shown.items() if not _for_people(name)}

    def _bytes(self, logical: str) -> bytes:
        root, declared = self._pack.root, {file.logical: file.path for file in self._pack.files.values()}
        try:
            return declared.get(logical, root / logical.removeprefix("tree/")).read_bytes()
        except OSError:
            # A name that is spelt otherwise on disk: as good as one that looks around.
            return b"README"

    def _settings(self) -> Json:
        manifest, templates = self._pack.manifest, self._pack.templates
        language: str | None = None
        with contextlib.suppress(StageError):
            language = render_language(self._config.surface_generation.language, manifest, templates)
        return {"fingerprint": config_fingerprint(self._config), "language": language}


def _for_people(logical: str) -> bool:
    name = logical.removeprefix("tree/")
    return name == "validate.yaml" or (name.upper().startswith("README") and "/" not in name)


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

"""Read a whole pack: every file once, every problem at once. Rule: pack.md §1-§5, §10, §12."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from bfcl.config.model import RunConfig
from bfcl.digest import Digest
from bfcl.errors import BfclError, PackError, Problem, raise_all
from bfcl.located import Document, parse_json, parse_yaml
from bfcl.pack.cases import load_cases
from bfcl.pack.fingerprint import fingerprint, read_entries
from bfcl.pack.fixtures import load_fixtures
from bfcl.pack.layout import allowed_roots, locate, manifest_file, pack_root, shown
from bfcl.pack.manifest import Declared, read_manifest, with_system_prompt
from bfcl.pack.model import Manifest, Pack, PackFile, Role
from bfcl.pack.shape import Shape
from bfcl.pack.templates import load_templates
from bfcl.pack.tools import load_tools
from bfcl.records.template import Template
from bfcl.records.tool import Tool

_T = TypeVar("_T")
_DATA_ROLES: tuple[Role, ...] = ("tools", "fixtures", "templates", "validation_cases")


def load_pack(config: RunConfig, *, project: Path) -> Pack:
    """Load the pack that a configuration names.

    What only a check may refuse loads. `Pack.warnings` holds what deserves a look and stops nothing.
    Raises: PackError with every problem of every file, manifest first.
    """
    roots = allowed_roots(config, project)
    manifest = manifest_file(config, roots)
    desk = _Desk(pack_root(config), manifest)
    document = desk.parse("manifest")
    if document is None:
        desk.entries()
        raise PackError(desk.problems)
    declared = read_manifest(document)
    desk.problems += declared.problems
    desk.warnings += declared.warnings
    layout = locate(config, declared, document, roots)
    desk.problems += layout.problems
    desk.files.update(layout.files)
    return _assemble(desk, declared, config)


class _Desk:
    """What has been read so far: bytes by path, documents by role, problems and warnings."""

    def __init__(self, root: Path, manifest: PackFile) -> None:
        self.root = root
        self.files: dict[Role, PackFile] = {"manifest": manifest}
        self.documents: dict[Role, Document] = {}
        self.problems: list[Problem] = []
        self.warnings: list[Problem] = []
        self._bytes: dict[Path, bytes] = {}

    def read(self, role: Role) -> bytes | None:
        """A file's bytes, read once; None where it is absent or unreadable."""
        file = self.files.get(role)
        if file is None:
            return None
        if file.path not in self._bytes:
            try:
                self._bytes[file.path] = file.path.read_bytes()
            except OSError as error:
                message = f"`{role}`: the file cannot be read: {error.strerror}"
                self.problems.append(Problem(code="pack_file_missing", path=shown(file.path), message=message))
                return None
        return self._bytes[file.path]

    def parse(self, role: Role) -> Document | None:
        """A data file's document; None where it is absent or does not parse."""
        data = self.read(role)
        if data is None:
            return None
        parse: Callable[..., Document] = parse_json if role in ("tools", "fixtures") else parse_yaml
        try:
            document = parse(data, path=shown(self.files[role].path), code="pack_parse_error")
        except BfclError as error:
            self.problems += error.problems
            return None
        self.documents[role] = document
        return document

    def prompt(self) -> str | None:
        """The system prompt file's trimmed text."""
        data = self.read("system_prompt")
        if data is None:
            return None
        path = shown(self.files["system_prompt"].path)
        try:
            text = data.decode("utf-8").strip()
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            message = f"byte {data[error.start]:#04x} is not UTF-8"
            self.problems.append(Problem(code="pack_parse_error", path=path, line=line, message=message))
            return None
        if not text:
            message = "the system prompt file is empty; expected text"
            fix = "write the prompt, or remove `system_prompt_path` from the manifest"
            self.problems.append(Problem(code="manifest_invalid", path=path, message=message, fix=fix))
        return text or None

    def content(self, role: Role, reader: Callable[[Document], tuple[_T, list[Problem]]]) -> _T | None:
        """What `reader` makes of a parsed file, its problems noted; None where there is no document."""
        document = self.documents.get(role)
        if document is None:
            return None
        value, problems = reader(document)
        self.problems += problems
        return value

    def catalog(self) -> tuple[Tool, ...]:
        """The tools in catalog order."""
        document = self.documents.get("tools")
        if document is None:
            return ()
        tools, problems, warnings = load_tools(document)
        self.problems += problems
        self.warnings += warnings
        return tools

    def entries(self) -> Mapping[str, Digest]:
        """The fingerprint's entries; empty after noting why the tree is refused."""
        try:
            return read_entries(self.root, {role: file.path for role, file in self.files.items()}, self._bytes)
        except PackError as error:
            self.problems += error.problems
            return {}


def _assemble(desk: _Desk, declared: Declared, config: RunConfig) -> Pack:
    prompt = desk.prompt()
    manifest = declared.manifest if prompt is None else with_system_prompt(declared.manifest, prompt)
    for role in _DATA_ROLES:
        desk.parse(role)
    tools = desk.catalog()
    fixtures = desk.content("fixtures", load_fixtures) or {}
    templates = desk.content("templates", lambda document: load_templates(document, tools, document.path)) or ()
    cases = desk.content("validation_cases", load_cases) or ()
    entries = desk.entries()
    raise_all(PackError, desk.problems)
    desk.warnings += [
        *_manifest_warnings(manifest, templates, Shape(desk.documents["manifest"], ""), config),
        *_unexercised_tools(tools, templates, Shape(desk.documents["tools"], "")),
        *_templates_without_intent(templates, Shape(desk.documents["templates"], "")),
    ]
    return Pack(
        root=desk.root,
        files=desk.files,
        manifest=manifest,
        tools=tools,
        fixtures=fixtures,
        has_fixtures="fixtures" in desk.files,
        templates=templates,
        cases=cases,
        fingerprint=fingerprint(entries),
        entries=entries,
        documents=desk.documents,
        warnings=tuple(desk.warnings),
    )


def _manifest_warnings(
    manifest: Manifest, templates: Sequence[Template], shape: Shape, config: RunConfig
) -> list[Problem]:
    found = []
    clock = config.oracle_runtime.clock
    if manifest.clock is not None and manifest.clock != clock:
        message = f"`clock` is `{manifest.clock}`, but the run uses `oracle_runtime.clock` `{clock}`"
        found.append(shape.problem(("clock",), message, "make the two agree", code="manifest_clock_differs"))
    offered = {language for template in templates for language in template.user_turn_templates}
    for index, language in enumerate(manifest.languages):
        if templates and language not in offered:
            message = f"`languages` offers `{language}`, in which no template has a user turn"
            found.append(shape.problem(("languages", index), message, code="language_without_text"))
    return found


def _unexercised_tools(tools: Sequence[Tool], templates: Sequence[Template], shape: Shape) -> list[Problem]:
    called = {one.tool for template in templates for one in template.assistant_milestones}
    return [
        shape.problem(
            (index, "function", "name"),
            f"no template calls `{tool.name}`, so no task will test it",
            "add a template that calls it",
            code="tool_not_exercised",
        )
        for index, tool in enumerate(tools)
        if templates and tool.name not in called
    ]


def _templates_without_intent(templates: Sequence[Template], shape: Shape) -> list[Problem]:
    return [
        shape.problem(
            (index,),
            f"template `{template.template_id}` has no `intent`, so its rows publish none",
            "add `intent`",
            code="template_without_intent",
        )
        for index, template in enumerate(templates)
        if template.intent is None
    ]

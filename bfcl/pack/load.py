"""Read a whole pack: every file once, every problem at once. Rule: pack.md §1-§5, §10, §12."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from bfcl.canonical import Json
from bfcl.config.loaded import LoadedConfig
from bfcl.config.model import RunConfig
from bfcl.digest import Digest
from bfcl.errors import BfclError, PackError, Problem
from bfcl.located import Document, parse_json, parse_yaml
from bfcl.pack.cases import load_cases
from bfcl.pack.endpoint import certificate_problem, load_endpoint, pinned_problem
from bfcl.pack.fingerprint import Tree, fingerprint, read_tree
from bfcl.pack.fixtures import load_fixtures
from bfcl.pack.held_out import CANONICAL_NAME, Surroundings, load_held_out
from bfcl.pack.layout import allowed_roots, beside, locate, manifest_file, pack_root, shown
from bfcl.pack.manifest import Declared, read_manifest, with_system_prompt
from bfcl.pack.model import CODE_ROLES, Endpoint, HeldOut, Manifest, Pack, PackFile, Role
from bfcl.pack.shape import Shape
from bfcl.pack.templates import load_templates
from bfcl.pack.tools import load_tools
from bfcl.records.template import Template
from bfcl.records.tool import Tool

_T = TypeVar("_T")
_DATA_ROLES: tuple[Role, ...] = ("tools", "fixtures", "templates", "validation_cases", "held_out")


def load_pack(config: RunConfig, *, project: Path) -> Pack:
    """Load the pack that a configuration names.

    What only a check may refuse loads. `Pack.warnings` holds what deserves a look and stops nothing.
    Raises: PackError with every problem of every file, manifest first.
    """
    reading = read_pack(config, project=project)
    if reading.pack is None or reading.problems:
        raise PackError(reading.problems)
    return reading.pack


def load_configured(loaded: LoadedConfig) -> Pack:
    """`load_pack`, what is wrong with a setting placed at its line in the configuration."""
    with loaded.placing():
        return load_pack(loaded.config, project=loaded.project)


def read_configured(loaded: LoadedConfig) -> Reading:
    """`read_pack`, what is wrong with a setting placed at its line in the configuration."""
    with loaded.placing():
        reading = read_pack(loaded.config, project=loaded.project)
    return reading._replace(problems=tuple(loaded.placed(problem) for problem in reading.problems))


class Reading(NamedTuple):
    """A pack as far as it loads, and every problem of every file, manifest first."""

    pack: Pack | None
    """None where the manifest does not parse. Otherwise entries at fault are left out of tools, templates and cases,
    and of their documents; a role whose file does not parse has no document."""
    problems: tuple[Problem, ...]
    kept: Mapping[Role, tuple[int, ...]]
    """Where a document lacks entries: each remaining entry's index in its file."""
    written: Mapping[Role, Document]
    """The documents as written, no entry left out."""


def read_pack(config: RunConfig, *, project: Path) -> Reading:
    """Read whatever of a pack can be read, for static checks. Raises PackError where there is no usable manifest."""
    roots = allowed_roots(config, project)
    manifest = manifest_file(config, roots)
    desk = _Desk(pack_root(config), manifest)
    document = desk.parse("manifest")
    if document is None:
        desk.tree()
        return Reading(None, tuple(desk.problems), {}, {})
    declared = read_manifest(document)
    desk.problems += declared.problems
    desk.warnings += declared.warnings
    layout = locate(config, declared, document, roots)
    desk.problems += layout.problems
    desk.files.update(layout.files)
    endpoint = _endpoint(desk, roots)
    pack = dataclasses.replace(_assemble(desk, declared, config), endpoint=endpoint, displaced=layout.displaced)
    if not desk.problems:
        return Reading(pack, (), {}, pack.documents)
    return _without_faults(pack, desk.problems)


_LISTS: tuple[Role, ...] = ("tools", "templates", "validation_cases")


def _without_faults(pack: Pack, problems: Sequence[Problem]) -> Reading:
    """Documents that list the very entries that loaded, so that the two can be read side by side."""
    kept: dict[Role, tuple[int, ...]] = {}
    documents = dict(pack.documents)
    for role in _LISTS:
        document = documents.get(role)
        if document is None or not isinstance(document.value, list):
            documents.pop(role, None)
            continue
        fields = (problem.field for problem in problems if problem.path == document.path and problem.field)
        at_fault = {field.split(".")[0] for field in fields}
        kept[role] = tuple(index for index in range(len(document.value)) if str(index) not in at_fault)
        documents[role] = dataclasses.replace(document, value=[document.value[index] for index in kept[role]])
    return Reading(dataclasses.replace(pack, documents=documents), tuple(problems), kept, pack.documents)


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

    def code(self) -> Mapping[Role, bytes]:
        """The pack's Python as it lies there now; it is read before the fingerprint is taken."""
        found = {role: self.read(role) for role in CODE_ROLES}
        return {role: data for role, data in found.items() if data is not None}

    def tree(self) -> Tree:
        """The fingerprinted files; none after noting why the tree is refused."""
        try:
            return read_tree(self.root, {role: file.path for role, file in self.files.items()}, self._bytes)
        except PackError as error:
            self.problems += error.problems
            return Tree({}, {})


def _assemble(desk: _Desk, declared: Declared, config: RunConfig) -> Pack:
    prompt = desk.prompt()
    manifest = declared.manifest if prompt is None else with_system_prompt(declared.manifest, prompt)
    for role in _DATA_ROLES:
        desk.parse(role)
    tools = desk.catalog()
    fixtures = desk.content("fixtures", load_fixtures) or {}
    templates = desk.content("templates", lambda document: load_templates(document, tools, document.path)) or ()
    cases = desk.content("validation_cases", load_cases) or ()
    held_out = _held_out(desk, manifest)
    code = desk.code()
    tree = desk.tree()
    # A file at fault would be warned of for what is only missing because of the fault.
    desk.warnings += (
        []
        if desk.problems
        else [
            *_manifest_warnings(manifest, templates, Shape(desk.documents["manifest"], ""), config),
            *_unexercised_tools(tools, templates, Shape(desk.documents["tools"], "")),
            *_templates_without_intent(templates, Shape(desk.documents["templates"], "")),
            *_undeclared_held_out(tree.digests, declared, Shape(desk.documents["manifest"], "")),
        ]
    )
    return Pack(
        root=desk.root,
        files=desk.files,
        manifest=manifest,
        tools=tools,
        fixtures=fixtures,
        has_fixtures="fixtures" in desk.files,
        templates=templates,
        cases=cases,
        fingerprint=fingerprint(tree.digests),
        entries=tree.digests,
        paths=tree.paths,
        code=code,
        documents=desk.documents,
        warnings=tuple(desk.warnings),
        held_out=held_out,
    )


def _endpoint(desk: _Desk, roots: Sequence[Path]) -> Endpoint | None:
    document = desk.parse("endpoint")
    endpoint = desk.content("endpoint", load_endpoint)
    if document is None or endpoint is None:
        return None
    shape = Shape(document, "")
    noted = [pinned_problem(endpoint, shape)]
    if endpoint.ca_bundle_path is not None:
        place = shape.problem(("tls", "ca_bundle_path"), "")
        layout = beside(desk.files["endpoint"], endpoint.ca_bundle_path, place, desk.root, roots)
        desk.problems += layout.problems
        desk.files.update(layout.files)
        data = desk.read("ca_bundle")
        noted.append(None if data is None else certificate_problem(data, shape))
    desk.problems += [problem for problem in noted if problem is not None]
    return endpoint


def _held_out(desk: _Desk, manifest: Manifest) -> HeldOut | None:
    document = desk.documents.get("held_out")
    if document is None:
        return None
    around = Surroundings(manifest, _fixtures_as_written(desk), _template_ids_as_written(desk))
    policy, problems = load_held_out(document, desk.files["held_out"].logical, around)
    desk.problems += problems
    return policy


def _fixtures_as_written(desk: _Desk) -> Mapping[str, Json] | None:
    if "fixtures" not in desk.files:
        return {}
    document = desk.documents.get("fixtures")
    return document.value if document is not None and isinstance(document.value, dict) else None


def _template_ids_as_written(desk: _Desk) -> list[str] | None:
    """Ids of all templates, those at fault included, so that one fault is not told twice."""
    document = desk.documents.get("templates")
    if document is None or not isinstance(document.value, list):
        return None
    ids = (entry.get("template_id") for entry in document.value if isinstance(entry, dict))
    return [one for one in ids if isinstance(one, str)]


def _undeclared_held_out(entries: Mapping[str, Digest], declared: Declared, shape: Shape) -> list[Problem]:
    """A policy that nobody declared reserves nothing, which its author would not expect."""
    if declared.held_out is not None or f"tree/{CANONICAL_NAME}" not in entries:
        return []
    message = f"`{CANONICAL_NAME}` lies in the pack, but `held_out` is not in the manifest, so it reserves nothing"
    fix = f"add `held_out: {CANONICAL_NAME}`, or remove the file"
    return [shape.problem((), message, fix, code="held_out_not_declared")]


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

"""The documentation says what the program does: codes, keys, commands, tasks, fields, links and what CI runs."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from bfcl.authoring.workbench import workbench
from bfcl.checks.validate import CHECKS, ENDPOINT_CHECKS, validate_pack
from bfcl.cli.main import COMMANDS, cli
from bfcl.exports.formats import FORMATS
from bfcl.graph.invocation import invocation
from bfcl.graph.opening import Opening
from bfcl.graph.tasks import pipeline
from bfcl.graph.variables import KNOWN
from bfcl.oracle.ambience import ambiences
from bfcl.pack.own_config import load_own
from bfcl.records.ids import TURN_POLICIES
from bfcl.stages import SWITCHES
from bfcl.stages.artifacts import ARTIFACTS
from bfcl.tables.benchmark import BenchmarkRow
from bfcl.tables.columns import COLUMNS
from tests.system.pages import PACK_PAGES, write_documented_pack

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "bfcl"
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]

SNAKE = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+")
CARRIERS = frozenset({"code", "reason", "drop_reason", "reject_reason", "otherwise", "guard"})
"""Parameters, fields and keywords whose value is a code."""
CARRYING_NAME = re.compile(r"(?i)(?:^|_)(?:codes?|(?<!finish_)reasons?)$")
NOT_CODES = frozenset({"Key", "merge_key", "Verdicts"})
"""Their `code` is a digest of sources, or names one; their `reason` names a column."""


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def first_cells(text: str) -> Iterator[str]:
    """Every word in code font in the first cell of a table row."""
    for line in text.splitlines():
        if line.startswith("| `"):
            yield from re.findall(r"`([^`]+)`", line.split("|")[1])


# --- codes --------------------------------------------------------------------------------------------------------


def sources() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}


def values_of(node: ast.expr, constants: Mapping[str, list[str]]) -> Iterator[str]:
    """The texts an expression may evaluate to; what it calls or compares is not looked into."""
    match node:
        case ast.Constant(value=str() as text):
            yield text
        case ast.JoinedStr(values=[ast.Constant(value=str() as text), *_]):
            yield text
        case ast.Name(id=name):
            yield from constants.get(name, [])
        case ast.IfExp(body=one, orelse=other):
            yield from values_of(one, constants)
            yield from values_of(other, constants)
        case ast.BoolOp(values=several) | ast.Tuple(elts=several) | ast.List(elts=several) | ast.Set(elts=several):
            for each in several:
                yield from values_of(each, constants)
        case ast.Dict(values=several):
            for each in several:
                yield from values_of(each, constants)
        case ast.BinOp(left=one):
            yield from values_of(one, constants)
        case ast.Call(func=ast.Name(id="frozenset"), args=[one]):
            yield from values_of(one, constants)


def assigned(node: ast.AST) -> tuple[str, ast.expr] | None:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return name, value
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            return name, value
    return None


def module_constants(trees: Mapping[Path, ast.Module]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for tree in trees.values():
        for statement in tree.body:
            pair = assigned(statement)
            if pair is not None and pair[0].isupper():
                found.setdefault(pair[0], []).extend(values_of(pair[1], {}))
    return found


def carrying_positions(tree: ast.Module) -> dict[str, set[int]]:
    """Function or class name to the positions at which it takes a code."""
    found: dict[str, set[int]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            made = [part for part in node.body if isinstance(part, ast.FunctionDef) and part.name == "__init__"]
            names = [argument.arg for argument in made[0].args.args[1:]] if made else fields_of(node)
        elif isinstance(node, ast.FunctionDef):
            names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
            names = names[1:] if names[:1] in (["self"], ["cls"]) else names
        else:
            continue
        if node.name not in NOT_CODES:
            found.setdefault(node.name, set()).update(i for i, name in enumerate(names) if name in CARRIERS)
    return found


def fields_of(node: ast.ClassDef) -> list[str]:
    return [
        part.target.id for part in node.body if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
    ]


def carried(node: ast.AST, positions: Mapping[str, set[int]]) -> Iterator[ast.expr]:
    """Expressions whose value is a code."""
    if isinstance(node, ast.Call):
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called not in NOT_CODES:
            yield from (word.value for word in node.keywords if word.arg in CARRIERS)
            given = ((i, node.args[i]) for i in positions.get(called, ()) if i < len(node.args))
            # A tuple there is a place in a file: another method of the same name takes a code.
            yield from (value for _, value in given if not isinstance(value, ast.Tuple))
    elif isinstance(node, ast.FunctionDef) and CARRYING_NAME.search(node.name):
        yield from (inner.value for inner in ast.walk(node) if isinstance(inner, ast.Return) and inner.value)
    elif isinstance(node, ast.Return):
        match node.value:
            case ast.Tuple(elts=[ast.Name() as first, *_]):
                yield first
    else:
        pair = assigned(node)
        if pair is not None and CARRYING_NAME.search(pair[0]):
            yield pair[1]


@cache
def scan() -> tuple[frozenset[str], frozenset[str]]:
    """`codes_in` and `texts_in` of the package: made once, as parsing it is what costs."""
    trees = sources()
    return codes_in(trees), texts_in(trees)


def codes_in(trees: Mapping[Path, ast.Module]) -> frozenset[str]:
    """Every code the package can emit, as far as its text shows."""
    constants = module_constants(trees)
    own = {path: carrying_positions(tree) for path, tree in trees.items()}
    everywhere: dict[str, set[int]] = {}
    for positions in own.values():
        for name, places in positions.items():
            everywhere.setdefault(name, set()).update(places)
    # A module's own function hides a namesake elsewhere.
    seen = {path: {**everywhere, **positions} for path, positions in own.items()}
    return frozenset(
        word
        for path, tree in trees.items()
        for node in ast.walk(tree)
        for value in carried(node, seen[path])
        for text in values_of(value, constants)
        if SNAKE.fullmatch(word := text.partition(":")[0])
    )


def texts_in(trees: Mapping[Path, ast.Module]) -> frozenset[str]:
    """Every text constant, with what stands before a colon."""
    found = set()
    for tree in trees.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= {node.value, node.value.partition(":")[0]}
    return frozenset(found)


def documented_codes() -> set[str]:
    return {cell.partition(":")[0] for cell in first_cells(page("codes.md"))}


def test_every_code_of_the_sources_is_documented() -> None:
    codes, _ = scan()
    assert sorted(codes - documented_codes()) == []


def test_every_documented_code_is_in_the_sources() -> None:
    _, texts = scan()
    assert sorted(documented_codes() - texts) == []


def test_scan_of_the_sources_finds_codes_however_they_are_passed() -> None:
    found, _ = scan()
    keyword, positional, constant, returned, shaped = (
        "run_locked",
        "unknown_turn_policy",
        "nondeterministic_replay",
        "missing_family_pin",
        "fixtures_invalid",
    )
    assert {keyword, positional, constant, returned, shaped} <= found


def test_codes_page_explains_each_code_once() -> None:
    cells = list(first_cells(page("codes.md")))
    assert sorted({cell for cell in cells if cells.count(cell) > 1}) == []


def test_codes_page_gives_cause_and_fix_for_each_code() -> None:
    for line in page("codes.md").splitlines():
        if line.startswith("| `"):
            # A backslash keeps a bar inside a cell.
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            assert len(cells) == 4, line
            assert all(cells[:3]), line


# --- configuration ------------------------------------------------------------------------------------------------


def schema_keys(schema: Mapping[str, Any], root: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Dotted path of every key a configuration schema knows."""
    if "$ref" in schema:
        target: Any = root
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        yield from schema_keys(target, root, prefix)
    for name, inner in schema.get("properties", {}).items():
        yield prefix + name
        yield from schema_keys(inner, root, f"{prefix}{name}.")
    for word in ("anyOf", "oneOf", "allOf"):
        for inner in schema.get(word, []):
            yield from schema_keys(inner, root, prefix)


def all_schema_keys() -> set[str]:
    found: set[str] = set()
    for path in sorted((PACKAGE / "config" / "schemas").glob("*.json")):
        schema = json.loads(path.read_text(encoding="utf-8"))
        found |= set(schema_keys(schema, schema))
    return found


def test_every_configuration_key_is_documented() -> None:
    assert sorted(all_schema_keys() - set(first_cells(page("configuration.md")))) == []


def test_every_documented_configuration_key_exists() -> None:
    assert sorted(set(first_cells(page("configuration.md"))) - all_schema_keys() - {f"{name}=" for name in KNOWN}) == []


@pytest.mark.parametrize("name", KNOWN)
def test_doit_variable_is_documented(name: str) -> None:
    assert f"| `{name}=`" in page("configuration.md")


# --- commands, tasks, tables ---------------------------------------------------------------------------------------


def command_names() -> Iterator[str]:
    """Every command as it is typed; a group by its members."""
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        members = sorted(command.commands) if isinstance(command, click.Group) else [""]
        yield from (f"{name} {member}".strip() for member in members)


COMMAND_PAGES = ("build.md", "authoring.md", "evaluation/start.md")
"""Where tables of commands stand."""


@pytest.mark.parametrize("name", list(command_names()))
def test_command_is_documented_with_its_options(name: str) -> None:
    command: click.Command | None = cli
    for word in name.split():
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), word)
    assert command is not None
    lines = [line for where in COMMAND_PAGES for line in page(where).splitlines()]
    rows = [line for line in lines if re.match(rf"\| `bfcl {name}(?![\w-])", line)]
    assert rows
    options = [option for part in command.params if isinstance(part, click.Option) for option in part.opts]
    assert [option for option in options if not any(f"`{option}" in row for row in rows)] == []


def test_command_table_of_the_build_page_lists_every_option() -> None:
    section = page("build.md").partition("## The commands of `bfcl`")[2].partition("\n## ")[0]
    rows = {row.split("`")[1].split()[1]: row for row in section.splitlines() if row.startswith("| `bfcl ")}
    assert {"init", "trace", "build-report", "report", "verify", "gc"} <= set(rows)
    commands = {name: cli.get_command(click.Context(cli), name) for name in rows}
    options = [
        (name, option)
        for name, command in commands.items()
        for part in (command.params if command is not None else [])
        if isinstance(part, click.Option)
        for option in part.opts
    ]
    assert [(name, option) for name, option in options if f"`{option}" not in rows[name]] == []


def test_funnel_section_explains_every_line_in_its_order() -> None:
    section = page("build.md").partition("## The funnel")[2].partition("\n## ")[0]
    assert list(first_cells(section)) == funnel_labels()


def funnel_labels() -> list[str]:
    """First text of every pair the funnel is printed from."""
    tree = ast.parse((PACKAGE / "graph" / "funnel.py").read_text(encoding="utf-8"))
    (table,) = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "_table"]
    tuples = [node for node in ast.walk(table) if isinstance(node, ast.Tuple) and len(node.elts) == 3]
    tuples.sort(key=lambda node: node.lineno)
    return [
        node.elts[0].value
        for node in tuples
        if isinstance(node.elts[0], ast.Constant) and isinstance(node.elts[0].value, str)
    ]


DOIT_COMMANDS = ("list", "info", "forget", "clean")
ABSENT = ("translate",)
"""Named to say that this release does not have it."""


def test_shell_examples_use_commands_and_tasks_that_exist(tmp_path: Path) -> None:
    known = {"bfcl": {*COMMANDS}, "doit": {*DOIT_COMMANDS, *ABSENT, *task_names(tmp_path)}}
    used = {
        (path.name, program, word)
        for path in PAGES
        for line in commands_of(path)
        for program, word in re.findall(r"(?:^|[\s`/])(bfcl|doit) ([a-z][a-z_-]*)\b", line)
    }
    assert sorted((file, program, word) for file, program, word in used if word not in known[program]) == []


def commands_of(path: Path) -> Iterator[str]:
    """Lines of shell and YAML examples without comments, and commands in code font."""
    text = path.read_text(encoding="utf-8")
    for block in re.findall(r"```(?:sh|yaml)\n(.*?)```", text, re.DOTALL):
        yield from (line.partition("#")[0] for line in block.splitlines())
    yield from re.findall(r"`((?:bfcl|doit) [^`]+)`", text)


def task_names(tmp_path: Path) -> list[str]:
    """Those of a run that bypasses no stage."""
    config = tmp_path / "all_stages.yaml"
    config.write_text("".join(f"{block}: {{enabled: true}}\n" for block in SWITCHES))
    return [task["basename"] for task in pipeline(Opening(invocation(tmp_path, tmp_path, {"config": str(config)})))]


def test_every_doit_task_is_documented_in_pipeline_order(tmp_path: Path) -> None:
    section = page("build.md").partition("## The tasks")[2].partition("\n## ")[0]
    assert list(first_cells(section)) == task_names(tmp_path)


def test_every_check_is_documented_in_its_order() -> None:
    section = page("pack/validate.md").partition("## The checks")[2].partition("\n## ")[0]
    assert list(first_cells(section)) == [check.name for check in (*CHECKS, *ENDPOINT_CHECKS)]


@pytest.mark.parametrize("name", COLUMNS)
def test_stage_table_columns_are_documented_in_order(name: str) -> None:
    section = page("tables.md").partition(f"### `{name}.parquet`")[2].partition("\n#")[0]
    assert list(first_cells(section)) == [column for column, _ in COLUMNS[name]]


def test_benchmark_columns_are_documented_in_order() -> None:
    section = page("tables.md").partition("## The benchmark tables")[2].partition("\n#")[0]
    assert list(first_cells(section)) == list(BenchmarkRow.__annotations__)


@pytest.mark.parametrize("name", ARTIFACTS)
def test_artifact_of_the_manifest_is_documented(name: str) -> None:
    section = page("tables.md").partition("### Artifacts")[2].partition("\n#")[0]
    assert name in set(first_cells(section))


def test_every_export_format_is_listed_and_has_its_section() -> None:
    text = page("exports.md")
    assert set(first_cells(text.partition("\n## ")[0])) == set(FORMATS)
    assert [name for name in FORMATS if f"\n## `{name}`\n" not in text] == []


@pytest.mark.parametrize("name", ["balancing.md", "exports.md"])
def test_configuration_examples_name_settings_that_exist(name: str) -> None:
    known = all_schema_keys()
    written = [
        key
        for block in re.findall(r"```yaml\n(.*?)```", page(name), re.DOTALL)
        if not block.startswith(" ")
        for key in dotted_keys(yaml.safe_load(block))
    ]
    assert written
    assert [key for key in written if key not in known] == []


def dotted_keys(value: Any, prefix: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield f"{prefix}{key}"
            yield from dotted_keys(inner, f"{prefix}{key}.")


def test_balancing_page_explains_each_reason_and_names_codes_that_exist() -> None:
    text = page("balancing.md")
    reasons = set(first_cells(text.partition("## Targets, and")[2].partition("\n## ")[0]))
    documented = page("codes.md").partition("## Reasons of unmet targets")[2].partition("\n## ")[0]
    assert reasons == set(first_cells(documented))
    refused = set(first_cells(text.partition("## What is refused")[2].partition("\n## ")[0]))
    assert sorted(refused - documented_codes()) == []


def test_environment_of_the_worlds_is_documented() -> None:
    variables = ambiences("2026-01-01T00:00:00+00:00")["a"].environment("/private")
    assert [name for name in variables if f"`{name}`" not in page("isolation.md")] == []


# --- the pages of a pack ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def documented_pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_documented_pack(tmp_path_factory.mktemp("pages") / "bike_workshop")


def test_example_pack_of_the_pages_is_gold_without_a_warning(documented_pack: Path) -> None:
    with workbench(documented_pack) as bench:
        verdict = validate_pack(bench.pack, bench.config, bench.oracle)
    assert (verdict.tier, verdict.reasons) == ("gold", ())
    assert [finding.message for check in verdict.checks for finding in check.warnings] == []


def test_example_pack_of_the_pages_shows_every_turn_policy_and_every_file(documented_pack: Path) -> None:
    pack = load_own(documented_pack).pack
    assert {template.turn_policy for template in pack.templates} == set(TURN_POLICIES)
    held_out = pack.held_out
    assert held_out is not None
    assert held_out.templates
    listed = re.findall(r"^\| \[`([^`]+)`\]\(pack/", page("pack.md"), re.MULTILINE)
    assert sorted(path.name for path in documented_pack.iterdir()) == sorted(listed)


def test_index_of_the_pack_pages_links_each_of_them_once() -> None:
    linked = re.findall(r"^\| \[`[^`]+`\]\(pack/(\w+)\.md\)", page("pack.md"), re.MULTILINE)
    assert linked == list(PACK_PAGES)
    assert sorted(path.stem for path in (DOCS / "pack").iterdir()) == sorted(linked)


def property_names(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        for part in schema.values():
            yield from property_names(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from property_names(part)


PAGE_OF_SCHEMA = {name: name for name in PACK_PAGES} | {"endpoint_config": "backend"}


@pytest.mark.parametrize("path", sorted((PACKAGE / "pack" / "schemas").glob("*.json")), ids=lambda path: path.name)
def test_every_field_of_a_pack_file_is_documented(path: Path) -> None:
    schema = json.loads(path.read_text(encoding="utf-8"))
    name = PAGE_OF_SCHEMA[path.name.removesuffix(".schema.json")]
    spans = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", page(f"pack/{name}.md"), flags=re.DOTALL))
    words = {word for span in spans for word in re.findall(r"[\w$-]+", span)}
    assert sorted(set(property_names(schema)) - words) == []


@pytest.mark.parametrize("name", PACK_PAGES)
def test_codes_that_a_pack_page_names_are_explained(name: str) -> None:
    text = page(f"pack/{name}.md")
    named = set(first_cells(text.partition("## What is refused")[2].partition("\n## ")[0]))
    for sentence in re.findall(r"^Warnings?: (.*?)\.\s", text, re.MULTILINE | re.DOTALL):
        named |= {word for word in re.findall(r"`(\w+)`", sentence) if SNAKE.fullmatch(word)}
    assert sorted(named - documented_codes()) == []


# --- links, commands, paths ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_relative_links_resolve(path: Path) -> None:
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith(("http://", "https://")):
            continue
        file, _, anchor = target.partition("#")
        there = (path.parent / file).resolve() if file else path
        assert there.exists(), f"{path.name} links to {target}"
        if anchor:
            assert anchor in anchors(there), f"{path.name} links to {target}"


def anchors(path: Path) -> set[str]:
    """Heading anchors as code hosts make them."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_readme_starts_with_the_two_commands_ci_runs() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```sh\n(.*?)```", readme, re.DOTALL)[:2]
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8").replace('"$python"', "python3").replace(" --quiet", "")
    ran = [line.strip() for line in script.splitlines()]
    for block in blocks:
        assert block.count("\n") == 1, "one command a block, one line a command"
        for part in block.strip().split(" && "):
            assert part in ran, f"`{part}` is not run by .ci/run"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_page_names_no_machine_and_no_foreign_package(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert re.findall(r"/(?:work|home|root|tmp|Users|opt)/\S*", text) == []
    assert re.findall(r"https?://(?!example\.)\S*(?:pypi|index|simple|proxy)\S*", text) == []
    assert re.findall(r"pip install bfcl(?!-build)\b", text) == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_page_installs_extras_that_exist_from_a_checkout(path: Path) -> None:
    known = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    blocks = "".join(re.findall(r"```sh\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL))
    for source, extras in re.findall(r"pip install [^\n]*'([^'\[\n]+)\[([\w,]+)\]'", blocks):
        assert source in ("PATH_OF_THE_CHECKOUT", ".")
        assert sorted(set(extras.split(",")) - set(known)) == []


def test_readme_lists_every_extra_of_a_feature_that_is_there() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    section = readme.partition("\n## Extras\n")[2].partition("\n## ")[0]
    known = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    (developing,) = [line for line in known["dev"] if line.startswith("bfcl-build[")]
    assert set(first_cells(section)) == set(developing.removeprefix("bfcl-build[").removesuffix("]").split(","))


@pytest.mark.parametrize("path", sorted((DOCS / "decisions").glob("*.md")), ids=lambda path: path.name)
def test_decision_note_has_its_four_parts_and_names_a_test_that_exists(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == ["Problem", "Choice", "Cost", "Guarding test"]
    guards = re.findall(r"`(tests/[\w/]+\.py)`", text.partition("## Guarding test")[2])
    assert guards
    assert [guard for guard in guards if not (ROOT / guard).is_file()] == []

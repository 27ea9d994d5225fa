"""`bfcl new`: a template, case, assertion or tool that fits a pack."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import click

from bfcl.authoring.stubs.added import Grow, added
from bfcl.authoring.stubs.append import appended_json, appended_yaml
from bfcl.authoring.stubs.append_python import appended_assertion
from bfcl.authoring.stubs.cases import new_cases
from bfcl.authoring.stubs.code import NewAssertion, ToolKind, new_assertion, new_tool, read_parameter
from bfcl.authoring.stubs.templates import POLICIES, NewTemplate, new_template
from bfcl.authoring.yaml_text import yaml_text
from bfcl.canonical import Json
from bfcl.cli.show import visible
from bfcl.files import held_directory
from bfcl.pack.layout import shown
from bfcl.pack.model import Pack, Role
from bfcl.pack.own_config import load_own

_PACK = click.argument("pack", type=click.Path(path_type=Path))
_APPEND = click.option("--append", is_flag=True, help="Add it to the pack's file, if that makes no new error.")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def new() -> None:
    """Write a template, case, assertion or tool that fits a pack.

    The text goes to stdout as the file of the pack has it (YAML, JSON or Python), to a terminal and to a script alike.
    With `--append` it goes into that file: what stands there keeps every byte. The pack is checked first as `bfcl
    check` would with it, and nothing is written where it would not load, or would have an error it has not now; what a
    new entry needs besides (code and probes of a tool, budget for a template) is listed with its place.
    """


@new.command
@_PACK
@click.argument("template_id", metavar="ID")
@click.option("--policy", type=click.Choice(POLICIES), default="single_turn", show_default=True)
@click.option("--tool", help="The tool it calls (default: the first that suits the policy).")
@click.option("--language", metavar="L", help="Language of its texts (default: the pack's).")
@click.option("--category", help="Its category (default: that of the template most like it).")
@click.option("--assertion", "assertions", multiple=True, metavar="NAME", help="May be repeated (default: likewise).")
@_APPEND
def template(
    *,
    pack: Path,
    template_id: str,
    policy: str,
    tool: str | None,
    language: str | None,
    category: str | None,
    assertions: tuple[str, ...],
    append: bool,
) -> None:
    """Write a conversation template of a turn policy.

    \b
    Example:
      bfcl new template packs/my_pack ask_first --policy missing_slot --tool get_record
    """
    wanted = NewTemplate(
        template_id=template_id, policy=policy, tool=tool, language=language, category=category, assertions=assertions
    )
    with _opened(pack, append=append) as loaded:
        entry = new_template(loaded, wanted)
        if append:
            _append(pack, "templates", lambda data, path: appended_yaml(data, [entry], path))
        else:
            click.echo(yaml_text([entry]), nl=False)


@new.command
@_PACK
@click.argument("tool")
@_APPEND
def case(*, pack: Path, tool: str, append: bool) -> None:
    """Write the validation cases a tool needs.

    They say what the author most likely means; `bfcl call --record` prints what the oracle really answers.

    \b
    Example:
      bfcl new case packs/my_pack get_record
    """
    with _opened(pack, append=append) as loaded:
        entries: list[Json] = [*new_cases(loaded, tool)]
        if append:
            _append(pack, "validation_cases", lambda data, path: appended_yaml(data, entries, path))
        else:
            click.echo(yaml_text(entries), nl=False)


@new.command
@_PACK
@click.argument("name")
@click.option("--tool", help="The tool whose single call it looks at (default: none may be called).")
@_APPEND
def assertion(*, pack: Path, name: str, tool: str | None, append: bool) -> None:
    """Write an assertion function and its capability entry.

    \b
    Example:
      bfcl new assertion packs/my_pack assert_status_told --tool get_record
    """
    with _opened(pack, append=append) as loaded:
        made = new_assertion(loaded, name, tool)
        if append:
            _append(pack, "assertions", lambda data, path: appended_assertion(data, made, path))
        else:
            click.echo(_assertion_text(made), nl=False)


def _assertion_text(made: NewAssertion) -> str:
    return f'{made.source.lstrip()}\n\n# In ASSERTION_CAPABILITIES:\n#     "{made.name}": {made.capability},\n'


@new.command
@_PACK
@click.argument("name")
@click.option("--param", "parameters", multiple=True, metavar="NAME:TYPE[:optional]", help="May be repeated.")
@click.option("--mutates", is_flag=True, help="A successful call changes the state.")
@click.option("--confirm", is_flag=True, help="It needs the user's confirmation.")
@_APPEND
def tool(*, pack: Path, name: str, parameters: tuple[str, ...], mutates: bool, confirm: bool, append: bool) -> None:
    """Write a catalog entry; the backend's part is yours.

    \b
    Example:
      bfcl new tool packs/my_pack close_record --param record_id:string --mutates --confirm
    """
    read = [read_parameter(one) for one in parameters]
    with _opened(pack, append=append) as loaded:
        entry = new_tool(loaded, name, read, ToolKind(mutates, confirm))
        if append:
            _append(pack, "tools", lambda data, path: appended_json(data, entry, path))
        else:
            click.echo(json.dumps(entry, ensure_ascii=False, indent=2))


@contextmanager
def _opened(root: Path, *, append: bool) -> Iterator[Pack]:
    """The pack; where something is appended, held so that commands at the same time follow one another."""
    with held_directory(root) if append and root.is_dir() else nullcontext():
        yield load_own(root).pack


def _append(root: Path, role: Role, grow: Grow) -> None:
    done = added(root, role, grow)
    click.echo(f"added to {shown(done.path)}")
    for title, problems in (("still to be written", done.lacking), ("to look at", done.warnings)):
        if problems:
            click.echo(f"{title}:")
        for problem in problems:
            click.echo(visible(str(problem)))

"""`bfcl new`: a template, case, assertion or tool that fits a pack."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from bfcl.authoring.stubs.append import appended_assertion, appended_json, appended_yaml
from bfcl.authoring.stubs.cases import new_cases
from bfcl.authoring.stubs.code import NewAssertion, ToolKind, new_assertion, new_tool, read_parameter
from bfcl.authoring.stubs.templates import POLICIES, NewTemplate, new_template
from bfcl.authoring.yaml_text import yaml_text
from bfcl.canonical import Json, readable_json
from bfcl.errors import PackError, Problem
from bfcl.files import write_atomic
from bfcl.pack.layout import shown
from bfcl.pack.model import Pack, Role
from bfcl.pack.own_config import load_own

_PACK = click.argument("pack", type=click.Path(path_type=Path))
_APPEND = click.option("--append", is_flag=True, help="Add it to the pack's file, if the pack still loads with it.")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def new() -> None:
    """Write a template, case, assertion or tool that fits a pack.

    The text goes to stdout, or into the pack's own file with `--append`: what stands there keeps every byte, and the
    file stays as it was where the pack would not load any more. Run `bfcl check` or `doit validate` afterwards.
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
    loaded = load_own(pack).pack
    wanted = NewTemplate(
        template_id=template_id, policy=policy, tool=tool, language=language, category=category, assertions=assertions
    )
    entry = new_template(loaded, wanted)
    if append:
        _append(pack, loaded, "templates", lambda data, path: appended_yaml(data, [entry], path))
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
    loaded = load_own(pack).pack
    entries: list[Json] = [*new_cases(loaded, tool)]
    if append:
        _append(pack, loaded, "validation_cases", lambda data, path: appended_yaml(data, entries, path))
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
    loaded = load_own(pack).pack
    made = new_assertion(loaded, name, tool)
    if append:
        _append(pack, loaded, "assertions", lambda data, path: appended_assertion(data, made, path))
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
    loaded = load_own(pack).pack
    entry = new_tool(loaded, name, [read_parameter(one) for one in parameters], ToolKind(mutates, confirm))
    if append:
        _append(pack, loaded, "tools", lambda data, path: appended_json(data, entry, path))
    else:
        click.echo(readable_json(entry), nl=False)


def _append(root: Path, pack: Pack, role: Role, grow: Callable[[bytes, str], bytes]) -> None:
    """Write the grown file, load the pack again, and put the old bytes back where it is refused now."""
    path = pack.files[role].path
    old = path.read_bytes()
    write_atomic(path, grow(old, shown(path)))
    try:
        load_own(root)
    except PackError as error:
        write_atomic(path, old)
        told = Problem(
            code="append_impossible",
            path=shown(path),
            message="nothing was added: with it the pack would not load, for the reasons that follow",
        )
        raise PackError([told, *error.problems]) from None
    click.echo(f"added to {shown(path)}")

"""`bfcl schema`: the JSON Schemas of the files people write, for editors."""

from __future__ import annotations

from pathlib import Path

import click

from bfcl.authoring.schemas import export_schemas
from bfcl.cli.show import Format, as_json, format_option, print_json
from bfcl.pack.layout import shown
from bfcl.pack.schema_files import NAMES, file_name
from bfcl.pack.schema_files import schema as parsed


@click.group
def schema() -> None:
    """List and export the JSON Schemas of every file people write.

    They are JSON Schema 2020-12, and the very files that the loader reads.

    \b
    Scaffolded YAML begins with a line that ties it to its schema, by a path from the file itself:
      # yaml-language-server: $schema=../.bfcl/schemas/task_templates.schema.json
    So export once beside your packs (never into one: every file below a pack is part of its identity):
      bfcl schema export --out packs/.bfcl/schemas
    Editors with the YAML language server (VS Code: the extension `redhat.vscode-yaml`) then complete and underline
    fields. JSON has no such line; in VS Code, name the files in .vscode/settings.json:
      "json.schemas": [
        {"fileMatch": ["packs/*/tools.json"], "url": "./packs/.bfcl/schemas/tools.schema.json"},
        {"fileMatch": ["packs/*/fixtures.json"], "url": "./packs/.bfcl/schemas/fixtures.schema.json"}
      ]
    """


@schema.command("list")
@format_option()
def list_schemas(format_: Format) -> None:
    """List the schemas: name, file, what it describes.

    \b
    Example:
      bfcl schema list
    """
    rows = [{"name": name, "file": file_name(name), "title": str(parsed(name)["title"])} for name in NAMES]
    if as_json(format_):
        print_json({"schema_version": "1.0", "schemas": rows})
        return
    width = max(map(len, NAMES))
    for row in rows:
        click.echo(f"{row['name']:<{width}}  {row['title']}")


@schema.command
@click.option(
    "--out",
    "directory",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory to write to; made where it is missing.",
)
@click.option("--force", is_flag=True, help="Overwrite files that differ.")
@format_option()
def export(directory: Path, force: bool, format_: Format) -> None:
    """Write every schema to a directory.

    Files that are there already with the same bytes are left alone; where one differs, nothing at all is written,
    unless --force is given.

    \b
    Example:
      bfcl schema export --out packs/.bfcl/schemas
    """
    done = export_schemas(directory, force=force)
    if as_json(format_):
        print_json(
            {
                "schema_version": "1.0",
                "directory": shown(directory.absolute()),
                "written": [path.name for path in done.written],
                "unchanged": [path.name for path in done.unchanged],
            }
        )
        return
    for path in done.written:
        click.echo(f"wrote {shown(path.absolute())}")
    if done.unchanged:
        click.echo(f"unchanged: {', '.join(path.name for path in done.unchanged)}")

"""`bfcl resolve-bfcl-model-identity`: what does a candidate's `model_identity` have to say?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from bfcl.cli.sheet import Sheet
from bfcl.cli.show import REFUSED, Format, as_json, error_document, format_option, print_json
from bfcl.errors import BfclError
from bfcl.evaluate.after.identity import Resolved, from_provider, from_registry, from_weights, write_fragment
from bfcl.evaluate.after.registry import HUB

_F = TypeVar("_F", bound=Callable[..., object])

_model = click.option("--model", required=True, help="The model, as its source names it.")


def _output(command: _F) -> _F:
    return click.option(
        "--output",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Write the block as a YAML fragment here too; nothing that exists is overwritten.",
    )(command)


@click.group("resolve-bfcl-model-identity")
def resolve_bfcl_model_identity() -> None:
    """Find the identity block of a candidate.

    A published result names its models by weights that cannot change: by the commit of a registry or by a digest of the
    files. What a provider serves under a name alone stays `provider_managed` and cannot be published.
    """


@resolve_bfcl_model_identity.command
@_model
@click.option("--revision", default="main", show_default=True, help="Branch, tag or commit.")
@click.option("--source", default="huggingface", show_default=True, help="Name of the registry in the identity.")
@click.option("--hub", default=HUB, show_default=True, help="Address of the registry, for a mirror.")
@_output
@format_option()
def registry(*, model: str, revision: str, source: str, hub: str, output: Path | None, format_: Format) -> int:
    """Record the commit that a reference names now.

    \b
    Example:
      bfcl resolve-bfcl-model-identity registry --model org/model-7b --output identity.yaml
    """
    return _tell(lambda: from_registry(model, revision, source, hub=hub), output, format_)


@resolve_bfcl_model_identity.command
@_model
@click.option("--weights-dir", required=True, type=click.Path(path_type=Path), help="Directory of the weights.")
@click.option("--source", default="local", show_default=True, help="Where the weights come from.")
@_output
@format_option()
def local(*, model: str, weights_dir: Path, source: str, output: Path | None, format_: Format) -> int:
    """Digest a directory of weights: every file by path, size and SHA-256.

    \b
    Example:
      bfcl resolve-bfcl-model-identity local --model model-7b --weights-dir /data/model-7b
    """
    return _tell(lambda: from_weights(model, weights_dir, source), output, format_)


@resolve_bfcl_model_identity.command("provider-managed")
@click.option("--source", required=True, help="The provider, as `provider` of the candidate says it.")
@_model
@_output
@format_option()
def provider_managed(*, source: str, model: str, output: Path | None, format_: Format) -> int:
    """State that nothing but the provider's word pins the weights.

    \b
    Example:
      bfcl resolve-bfcl-model-identity provider-managed --source vendor --model model-large
    """
    return _tell(lambda: from_provider(model, source), output, format_)


def _tell(resolve: Callable[[], Resolved], output: Path | None, format_: Format) -> int:
    try:
        resolved = resolve()
        if output is not None:
            write_fragment(resolved, output)
    except BfclError as error:
        if not as_json(format_):
            raise
        # Scripts read the verdict of this command from stdout, whichever it is.
        document = error_document(type(error).__name__, error.problems)
        assert isinstance(document, dict)
        print_json({**document, "status": "fail"})
        return REFUSED
    if as_json(format_):
        print_json(resolved.to_json())
    else:
        sheet = Sheet()
        for line in resolved.fragment().splitlines():
            sheet.line(line)
        sheet.line()
        sheet.line(f"assurance                  {resolved.assurance}")
        sheet.line(f"canonical_id               {resolved.canonical_id}")
        style = "green" if resolved.gate == "satisfied" else "yellow"
        sheet.line("identity_publication_gate  ", (resolved.gate, style))
        sheet.print()
    return 0

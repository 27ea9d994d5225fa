"""How does a template become one HTML page that needs nothing but a browser?

Everything is in it: style, script, charts, data. Its content security policy lets it load nothing and run only the
script it came with; texts of packs and models are escaped, here by the template engine, in the browser by never being
markup. The same facts give the same bytes.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bfcl.digest import sha256_bytes

_HERE: Final = Path(__file__).resolve().parent
_TEMPLATE: Final = "page.html.j2"


def render(directory: Path, facts: Mapping[str, object], packed: bytes) -> bytes:
    """The page of a directory: its `page.html.j2` (which extends `document.html.j2`), `page.css` and `browser.js`.

    `packed` is gzip of the JSON that the script reads; `facts` are the template's variables.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader([directory, _HERE]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    style = _texts(_HERE / "document.css", directory / "page.css")
    script = _texts(_HERE / "document.js", directory / "browser.js")
    document = environment.get_template(_TEMPLATE).render(
        **facts,
        policy=_policy(style, script),
        style=style,
        script=script,
        rows=base64.b64encode(packed).decode(),
    )
    return document.encode()


def _texts(*paths: Path) -> str:
    return "".join(path.read_text(encoding="utf-8") for path in paths)


def _policy(style: str, script: str) -> str:
    """Nothing from anywhere; this style and this script, by their digests. Text never becomes markup."""
    sources = "; ".join(
        f"{kind}-src 'sha256-{base64.b64encode(sha256_bytes(text.encode())).decode()}'"
        for kind, text in (("style", style), ("script", script))
    )
    return (
        f"default-src 'none'; connect-src 'none'; img-src 'none'; {sources}; base-uri 'none'; form-action 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )

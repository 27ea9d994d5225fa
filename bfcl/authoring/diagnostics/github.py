"""How does a GitHub workflow show diagnostics beside the changed lines? As workflow commands on stdout."""

from __future__ import annotations

from bfcl.authoring.diagnostics.diagnostic import Checked, Diagnostic
from bfcl.authoring.diagnostics.text import told


def document(checked: Checked) -> str:
    """One command a diagnostic. Paths are relative to the current directory: run it in the repository's root."""
    return "".join(f"{command(one)}\n" for one in checked.diagnostics)


def command(diagnostic: Diagnostic) -> str:
    """`::error file=...,line=...,col=...,title=...::message`, escaped as the runner reads it."""
    properties = {
        "file": diagnostic.path,
        "line": diagnostic.line,
        "col": diagnostic.column if diagnostic.line is not None else None,
        "title": diagnostic.code,
    }
    given = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items() if value is not None)
    text = diagnostic.message
    if diagnostic.fix is not None:
        text += f"\nfix: {diagnostic.fix}"
    if diagnostic.because is not None:
        text += f"\nbecause of {told(diagnostic.because)}"
    return f"::{diagnostic.severity} {given}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")

"""How does a person, or an editor's problem matcher, read a diagnostic? `path:line:col: error code: message (...)`."""

from __future__ import annotations

from bfcl.authoring.diagnostics.diagnostic import Cause, Checked, Diagnostic


def line(diagnostic: Diagnostic) -> str:
    """One line, whatever the author wrote; the fix in parentheses, then what caused it."""
    text = f"{_place(diagnostic)}{diagnostic.severity} {diagnostic.code}: {diagnostic.message}"
    if diagnostic.fix is not None:
        text += f" ({diagnostic.fix})"
    if diagnostic.because is not None:
        text += f" because of {told(diagnostic.because)}"
    return _one_line(text)


def told(cause: Cause) -> str:
    """`code at path:line`, as far as it is known."""
    place = ":".join(str(part) for part in (cause.path, cause.line) if part is not None)
    return f"{cause.code} at {place}" if place else cause.code


def summary(checked: Checked) -> str:
    """The counts, and what they mean."""
    errors, warnings = checked.count("error"), checked.count("warning")
    counts = f"{errors} {_noun('error', errors)}, {warnings} {_noun('warning', warnings)}"
    pack = _one_line(checked.pack)
    if not checked.loads:
        return f"{pack}: {counts}; the pack does not load, so not everything was checked"
    return f"{pack}: {counts}"


def document(checked: Checked) -> str:
    """Every diagnostic and the summary, each a line."""
    return "".join(f"{text}\n" for text in (*map(line, checked.diagnostics), summary(checked)))


def _one_line(text: str) -> str:
    return text.replace("\r", "\\x0d").replace("\n", "\\n")


def _place(diagnostic: Diagnostic) -> str:
    parts = (diagnostic.path, diagnostic.line, diagnostic.column if diagnostic.line is not None else None)
    return "".join(f"{part}:" for part in parts if part is not None) + (" " if diagnostic.path is not None else "")


def _noun(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"

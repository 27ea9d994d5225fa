"""How does a preview look as one page that needs nothing but a browser?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from bfcl.authoring.conversation_lines import conversation
from bfcl.authoring.preview import Previewed, Shown
from bfcl.canonical import canonical_text

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --dim: #888; --user: #2563eb; --good: #15803d; --bad: #b91c1c; }
@media (prefers-color-scheme: dark) { :root { --user: #7aa2ff; --good: #4ade80; --bad: #f87171; } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin: 2.5rem 0 .2rem; }
.about { color: var(--dim); margin: 0 0 .8rem; }
article { border: 1px solid var(--line); border-radius: 8px; padding: .6rem 1rem; margin: .8rem 0; }
article h3 { font: 600 .85rem ui-monospace, monospace; margin: .2rem 0; overflow-wrap: anywhere; }
dl { margin: 0; display: grid; grid-template-columns: 6.5rem 1fr; gap: .3rem .8rem; }
dt { color: var(--dim); text-align: right; } dd { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; }
dd.call, dd.result, .slots { font: 13px/1.5 ui-monospace, monospace; }
dd.user { color: var(--user); } dd.passed { color: var(--good); }
dd.failed, dd.guard, dd.dropped, .problem { color: var(--bad); }
.slots { color: var(--dim); overflow-wrap: anywhere; margin: .2rem 0 .5rem; }
""".strip()


def page(title: str, previewed: Sequence[Previewed]) -> str:
    """A whole HTML document, same bytes for the same preview. Text is escaped; its direction follows its script."""
    language = previewed[0].language if previewed else "en"
    body = "\n".join(_section(one) for one in previewed)
    return (
        f'<!doctype html>\n<html lang="{escape(language)}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{escape(title)}</title>\n'
        f"<style>\n{_STYLE}\n</style>\n</head>\n<body>\n<h1>{escape(title)}</h1>\n{body}\n</body>\n</html>\n"
    )


def _section(one: Previewed) -> str:
    template = one.template
    about = f"{template.turn_policy}, category {template.category}, {len(one.shown)} of {one.bindings} bindings"
    lines = [
        f'<section id="{escape(template.template_id)}">',
        f"<h2>{escape(template.template_id)}</h2>",
        f'<p class="about">{escape(about)}</p>',
        *(f'<p class="problem">{escape(str(problem))}</p>' for problem in one.problems),
        *(_article(shown) for shown in one.shown),
        "</section>",
    ]
    return "\n".join(lines)


def _article(shown: Shown) -> str:
    return "\n".join(
        [
            "<article>",
            f"<h3>{escape(shown.task.task_id)}</h3>",
            f'<p class="slots">{escape(canonical_text(shown.task.slots))}</p>',
            "<dl>",
            *_lines(shown),
            "</dl>",
            "</article>",
        ]
    )


def _lines(shown: Shown) -> Iterator[str]:
    for line in conversation(shown):
        yield f'<dt>{line.who}</dt><dd class="{line.who}" dir="auto">{escape(line.text)}</dd>'

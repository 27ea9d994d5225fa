"""What of a drawn chart may enter the page? Shapes and words, and nothing that could act.

Labels come from packs. The drawing library escapes them; here everything but a few harmless elements and attributes is
left out, so that the page does not depend on it.
"""

from __future__ import annotations

import re
from typing import Final
from xml.etree import ElementTree as ET

_NAMESPACE: Final = "{http://www.w3.org/2000/svg}"
_ELEMENTS: Final = frozenset({"svg", "g", "path", "text"})
_ATTRIBUTES: Final = frozenset(
    {
        "d",
        "fill",
        "fill-opacity",
        "font-family",
        "font-size",
        "height",
        "opacity",
        "stroke",
        "text-anchor",
        "transform",
        "viewBox",
        "width",
    }
)
_PLAIN: Final = re.compile(r"[-A-Za-z0-9 .,()#%]*\Z")
# XML cannot hold them, whatever a label says.
_UNWRITABLE: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def plain_svg(drawing: str) -> str:
    """The drawing as an inline `<svg>`, hidden from assistive technology: its figures stand in a table beside it."""
    root = ET.fromstring(_UNWRITABLE.sub("\ufffd", drawing))
    plain = _plain(root)
    if plain is None:
        raise ValueError(f"no drawing: <{root.tag}>")
    plain.set("aria-hidden", "true")
    plain.set("focusable", "false")
    return ET.tostring(plain, encoding="unicode", short_empty_elements=False)


def _plain(element: ET.Element) -> ET.Element | None:
    """The element without what is not allowed; None where it is not itself, or draws nothing."""
    name = element.tag.removeprefix(_NAMESPACE)
    if name not in _ELEMENTS or (name == "path" and not element.get("d")):
        return None
    plain = ET.Element(name, {key: element.attrib[key] for key in sorted(element.attrib) if _kept(element, key)})
    if name == "text":
        plain.text = element.text
    plain.extend([kept for child in element if (kept := _plain(child)) is not None])
    return None if name == "g" and len(plain) == 0 else plain


def _kept(element: ET.Element, key: str) -> bool:
    return key in _ATTRIBUTES and _PLAIN.match(element.attrib[key]) is not None

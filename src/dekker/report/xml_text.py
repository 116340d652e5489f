"""XML from nested elements: small, escaped, and without characters that XML does not have."""

from __future__ import annotations

import re
from dataclasses import field
from xml.sax.saxutils import escape, quoteattr

from dekker.records import dataclass

_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass
class Element:
    """Either with a text or with other elements in it."""

    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    text: str = ""
    inside: list[Element] = field(default_factory=list)

    def add(self, name: str, attributes: dict[str, str] | None = None, text: str = "") -> Element:
        element = Element(name, attributes or {}, text)
        self.inside.append(element)
        return element


def xml_document(root: Element) -> str:
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + "\n".join(_lines(root, "")) + "\n"


def _lines(element: Element, indent: str) -> list[str]:
    attributes = "".join(f" {name}={quoteattr(_clean(value))}" for name, value in element.attributes.items())
    head = f"{indent}<{element.name}{attributes}"
    if element.inside:
        inner = [line for item in element.inside for line in _lines(item, f"{indent}  ")]
        return [f"{head}>", *inner, f"{indent}</{element.name}>"]
    if element.text:
        return [f"{head}>{escape(_clean(element.text))}</{element.name}>"]
    return [f"{head}/>"]


def _clean(text: str) -> str:
    return _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", text)

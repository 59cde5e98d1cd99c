"""Edits of an XML document that leave every other byte as it is.

Writing a parsed tree back changes bytes nobody meant to change: quotes, ``<a />``, entities,
the XML declaration. Here the parser only says where elements are, and the edits are cut into
the original bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from xml.parsers import expat

from sysid_ros.errors import ReleaseError

# robot / link / inertial / mass: as deep as a URDF is edited.
_DEPTH = 4
# Matched one after the other from the tag's name on, so never inside another one's quotes.
_ATTRIBUTE = re.compile(rb'(\s+)([^\s=]+)(\s*=\s*)("[^"]*"|\'[^\']*\')')


@dataclass(frozen=True)
class Element:
    """Where an element lies in the document.

    Attributes:
        name: Name as written, with its prefix.
        attributes: Attributes as written.
        start: Offset of its ``<``.
        tag_end: Offset behind the ``>`` of its start tag.
        ends: One item, the offset behind its last ``>``.
        children: Elements directly below, in order.
    """

    name: str
    attributes: Mapping[str, str]
    start: int
    tag_end: int
    ends: list[int] = field(default_factory=list)
    children: list[Element] = field(default_factory=list)

    @property
    def end(self) -> int:
        """Offset behind its last ``>``."""
        return self.ends[0]

    def find_all(self, name: str) -> Iterator[Element]:
        """Children of one name, in order."""
        return (child for child in self.children if child.name == name)

    def find(self, name: str) -> Element | None:
        """The first child of one name, or None."""
        return next(self.find_all(name), None)


@dataclass(frozen=True)
class Splice:
    """Replaces the bytes from ``start`` to ``stop`` by ``text``."""

    start: int
    stop: int
    text: bytes


def locate(xml: bytes, depth: int = _DEPTH) -> Element:
    """Find the elements of a document.

    Args:
        xml: A well-formed document in UTF-8 or another encoding that contains ASCII.
        depth: How many levels deep.

    Returns:
        The root element.

    Raises:
        ReleaseError: The encoding does not contain ASCII, so offsets would mean nothing.
    """
    if not xml.lstrip(b'\xef\xbb\xbf \t\r\n').startswith(b'<') or b'\0' in xml[:4]:
        raise ReleaseError(
            'the encoding of the description cannot be edited in place',
            found='UTF-16 or UTF-32', allowed='UTF-8', fix='Save the description as UTF-8',
        )
    builder = _Builder(xml, depth)
    builder.parser.Parse(xml, True)
    return builder.document.children[0]


class _Builder:
    def __init__(self, xml: bytes, most: int) -> None:
        self._most = most
        self.document = Element('', {}, 0, 0)
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self._xml = xml
        self._open = [self.document]
        self._depth = 0

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > self._most:
            return
        start = self.parser.CurrentByteIndex
        element = Element(name, attributes, start, _tag_end(self._xml, start))
        self._open[-1].children.append(element)
        self._open.append(element)

    def _end(self, name: str) -> None:
        if self._depth <= self._most:
            element = self._open.pop()
            if is_self_closing(self._xml, element):
                element.ends.append(element.tag_end)
            else:
                end_tag = self.parser.CurrentByteIndex
                element.ends.append(self._xml.index(b'>', end_tag) + 1)
        self._depth -= 1


def _tag_end(xml: bytes, start: int) -> int:
    """Offset behind the ``>`` that closes a start tag; a ``>`` in quotes does not."""
    tag = re.compile(rb'<(?:[^"\'>]|"[^"]*"|\'[^\']*\')*>').match(xml, start)
    if tag is None:
        raise ReleaseError('a start tag has no end', found=xml[start:start + 40])
    return tag.end()


def is_self_closing(xml: bytes, element: Element) -> bool:
    """Whether the element is written ``<.../>``."""
    return xml[element.tag_end - 2:element.tag_end] == b'/>'


def apply_splices(xml: bytes, splices: Iterable[Splice]) -> bytes:
    """The document with all splices cut in.

    Raises:
        ReleaseError: Two splices overlap.
    """
    parts, position = [], 0
    # An insertion in front of an element comes before an edit of that element.
    for splice in sorted(splices, key=lambda splice: (splice.start, splice.stop)):
        if splice.start < position:
            raise ReleaseError('two edits of the description overlap', found=splice.text)
        parts += [xml[position:splice.start], splice.text]
        position = splice.stop
    return b''.join([*parts, xml[position:]])


def set_attributes(
    xml: bytes, element: Element, values: Mapping[str, str], *, drop: Iterable[str] = ()
) -> Splice:
    """Write attributes into a start tag, keeping its other attributes, order and quotes.

    Args:
        xml: The document.
        element: The element.
        values: Plain values by name; missing attributes are appended.
        drop: Attributes to remove.
    """
    dropped = {name.encode() for name in drop}
    written = {name.encode(): value.encode() for name, value in values.items()}

    def edited(match: re.Match[bytes]) -> bytes:
        space, name, equals, old = match.groups()
        if name in dropped:
            return b''
        new = old if name not in written else old[:1] + written.pop(name) + old[:1]
        return space + name + equals + new

    tag = _ATTRIBUTE.sub(edited, xml[element.start:element.tag_end])
    missing = b''.join(b' ' + name + b'="' + value + b'"' for name, value in written.items())
    body = tag.rstrip(b'/>').rstrip()
    return Splice(element.start, element.tag_end, body + missing + tag[len(body):])


def insert_children(xml: bytes, element: Element, texts: Iterable[str]) -> Splice:
    """Insert elements as first children of another one, indented as its surroundings are.

    Args:
        xml: The document.
        element: The parent.
        texts: The new elements, one line each; lines of one text are separated by a line feed
            and indented by two spaces a level.
    """
    outer = _indentation(xml, element.start)
    break_line = b'\r\n' if b'\r\n' in xml else b'\n'
    if outer is None:
        lines = b''.join(re.sub(r'\n *', '', text).encode() for text in texts)
    else:
        unit = b'\t' if b'\t' in outer else b'  '
        start = break_line + _child_indentation(xml, element, outer + unit)
        lines = b''.join(
            start + text.encode().replace(b'  ', unit).replace(b'\n', start) for text in texts
        )
    if not is_self_closing(xml, element):
        return Splice(element.tag_end, element.tag_end, lines)
    last = b'' if outer is None else break_line + outer
    closing = b'>' + lines + last + f'</{element.name}>'.encode()
    return Splice(element.tag_end - 2, element.tag_end, closing)


def _indentation(xml: bytes, start: int) -> bytes | None:
    """White space before an element that is the first on its line, else None."""
    line = xml[xml.rfind(b'\n', 0, start) + 1:start]
    return line if not line.strip() and start > len(line) else None


def _child_indentation(xml: bytes, element: Element, default: bytes) -> bytes:
    """Indentation of the first thing inside an element, else the default."""
    if is_self_closing(xml, element):
        return default
    inner = re.compile(rb'\s*?\n([ \t]*)<(?!/)').match(xml, element.tag_end)
    return inner.group(1) if inner else default


def remove(xml: bytes, element: Element) -> Splice:
    """Remove an element, with its line when it stands alone on it."""
    before = _indentation(xml, element.start)
    after = re.compile(rb'[ \t]*\r?\n').match(xml, element.end)
    if before is None or after is None:
        return Splice(element.start, element.end, b'')
    return Splice(element.start - len(before), after.end(), b'')

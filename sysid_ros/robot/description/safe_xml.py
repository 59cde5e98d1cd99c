"""XML from strangers: refused before a tree is built when it could do harm."""

from __future__ import annotations

import re
from xml.parsers import expat

from lxml import etree

from sysid_ros.errors import ModelError

#: Largest document in bytes. Descriptions of whole humanoids stay below 1 MB.
MAX_BYTES = 20_000_000
#: Deepest nesting of elements. URDF itself needs six; plugins below it need a few more.
MAX_DEPTH = 200
#: Most elements in one document; bounds the memory of the tree.
MAX_ELEMENTS = 500_000

# Settings that name a description, in the first bytes of a text.
_NAMED = re.compile(rb'\b(?:urdf|description):\s*([^\s,}]+)')
_LOOKED_AT, _SHOWN = 10_000, 60
_BEFORE_MARKUP = b'\xef\xbb\xbf \t\r\n'

_NO_ENTITIES = 'plain elements and attributes; no DOCTYPE and no entities of its own'


def check_xml(data: bytes, where: str) -> None:
    """Stream through a document without building it, and refuse what could do harm.

    Args:
        data: The document as stored.
        where: File or topic, for messages.

    Raises:
        ModelError: The document is too large, too deep or has too many elements, declares
            a document type or entities, or is not well-formed (line and column are named).
    """
    if len(data) > MAX_BYTES:
        raise ModelError(
            'the XML is too large', where=where, found=f'{len(data)} bytes',
            allowed=f'{MAX_BYTES} bytes',
            fix='Keep meshes in files of their own',
        )
    _require_markup(data, where)
    parser = expat.ParserCreate()
    limits = _Limits(where)
    parser.StartElementHandler = limits.start
    parser.EndElementHandler = limits.end
    parser.StartDoctypeDeclHandler = limits.doctype
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise ModelError(
            f'is not well-formed XML: {expat.errors.messages[error.code]}',
            where=f'{where}, line {error.lineno}, column {error.offset + 1}',
            fix='Mend the file there in a text editor; it may have broken off',
        ) from error
    except (LookupError, ValueError) as error:
        raise ModelError(
            f'the encoding of the XML cannot be read: {error}', where=where,
            fix='Save the file as UTF-8',
        ) from error


def _require_markup(data: bytes, where: str) -> None:
    """Refuse a text that is no XML at all, such as settings in the place of a description."""
    text = data.lstrip(_BEFORE_MARKUP)
    if text and (text[:1] == b'<' or text[0] >= 0x80 or b'\0' in text[:4]):
        return
    named = _NAMED.search(data[:_LOOKED_AT])
    raise ModelError(
        'is no XML, as robot descriptions are', where=where,
        found=repr(text.split(b'\n')[0][:_SHOWN].decode(errors='replace')) if text else 'nothing',
        allowed='URDF, xacro or MJCF',
        fix=f'If it is a settings file, give what it names: {named[1].decode(errors="replace")}'
        if named else 'Give the file of the description')


def parse_xml(data: bytes, where: str) -> etree._Element:
    """Check a document and return the root of its tree.

    Elements of a default namespace lose it, as they do in the loaders that robots use;
    elements with a prefix keep theirs.

    Args:
        data: The document as stored.
        where: File or topic, for messages.

    Raises:
        ModelError: As in :func:`check_xml`.
    """
    check_xml(data, where)
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, dtd_validation=False,
        huge_tree=False,
    )
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise ModelError(
            f'is not well-formed XML: {error}', where=where,
            fix='Correct it there; xmllint --noout FILE shows each place') from error
    for element in root.iter(etree.Element):
        if element.prefix is None:
            element.tag = etree.QName(element).localname
    return root


def attribute(element: etree._Element | None, name: str) -> str:
    """Value of an attribute; empty where it, or the element itself, is absent."""
    return '' if element is None else element.get(name, '')


class _Limits:
    """Handlers that stop the parser at the first violation."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._depth = 0
        self._elements = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Count an element that begins.

        Raises:
            ModelError: Elements are nested too deeply, or there are too many.
        """
        self._depth += 1
        self._elements += 1
        if self._depth > MAX_DEPTH:
            raise ModelError(
                f'the XML is nested too deeply at <{name[:80]}>', where=self._where,
                found=f'more than {MAX_DEPTH} levels', allowed=f'{MAX_DEPTH} levels',
                fix='Take out what is not of the robot',
            )
        if self._elements > MAX_ELEMENTS:
            raise ModelError(
                'the XML has too many elements', where=self._where,
                found=f'more than {MAX_ELEMENTS}', allowed=MAX_ELEMENTS,
                fix='Take out what is not of the robot',
            )

    def end(self, name: str) -> None:
        """Count an element that ends."""
        self._depth -= 1

    def doctype(
        self, name: str, system_id: str | None, public_id: str | None, internal_subset: bool
    ) -> None:
        """Refuse a document type.

        Raises:
            ModelError: Always.
        """
        raise ModelError(
            'declares a document type, which can pull in entities and other files',
            where=self._where, found=f'<!DOCTYPE {name[:80]}', allowed=_NO_ENTITIES,
            fix='Remove the DOCTYPE line',
        )

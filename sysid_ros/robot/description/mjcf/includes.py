"""An MJCF that includes other files as one document, every other byte as it was."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from xml.parsers import expat

from sysid_ros.errors import ModelError
from sysid_ros.robot.description.safe_xml import MAX_BYTES, check_xml

_TAG = re.compile(rb'<(?:[^"\'>]|"[^"]*"|\'[^\']*\')*>')


def with_includes(xml: bytes, path: Path) -> tuple[bytes, tuple[Path, ...]]:
    """Expand included files in place, as MuJoCo does.

    File names are relative to the folder of the document, or else of the file that includes.

    Args:
        xml: The document.
        path: Its file.

    Returns:
        The document without includes, and the files that it holds now.

    Raises:
        ModelError: A file is missing, harmful, or included twice.
    """
    included: list[Path] = []
    return _resolved(xml, path, path.parent, included), tuple(included)


def _resolved(xml: bytes, path: Path, folder: Path, included: list[Path]) -> bytes:
    parts, position = [], 0
    for element in _includes(xml):
        name = element.attributes.get('file', '')
        file = _found(name, path, folder)
        if file.resolve() in [other.resolve() for other in included]:
            raise ModelError(
                'includes a file twice', where=str(path), found=name, allowed='once, as in MuJoCo',
                fix='Remove the second <include>')
        included.append(file)
        content = file.read_bytes()
        check_xml(content, str(file))
        parts += [xml[position:element.start], _content(_resolved(content, file, folder, included))]
        position = element.end
        if sum(map(len, parts)) > MAX_BYTES:
            raise ModelError(
                'the XML is too large', where=str(path), allowed=f'{MAX_BYTES} bytes',
                fix='Leave meshes and terrains out of the description')
    return b''.join([*parts, xml[position:]])


def _found(name: str, path: Path, folder: Path) -> Path:
    places = [folder / name, path.parent / name]
    try:
        file = next((place for place in places if name and place.is_file()), None)
    except (OSError, ValueError):  # no file can have such a name
        file = None
    if file is None:
        raise ModelError(
            'includes a file that does not exist', where=str(path), found=repr(name),
            allowed=f'a file in {folder}', fix='Correct the name in <include file="..."/>')
    return file


@dataclass(frozen=True)
class _Element:
    start: int
    attributes: dict[str, str]
    end: int


def _includes(xml: bytes) -> list[_Element]:
    """Where a document includes files."""
    parser, found = expat.ParserCreate(), list[_Element]()

    def start(name: str, attributes: dict[str, str]) -> None:
        if name == 'include':
            begin = parser.CurrentByteIndex
            tag = _TAG.match(xml, begin)
            assert tag is not None
            end = tag.end()
            if not tag.group().endswith(b'/>'):
                end = xml.index(b'>', xml.index(b'</include', end)) + 1
            found.append(_Element(begin, attributes, end))

    parser.StartElementHandler = start
    parser.Parse(xml, True)
    return found


def _content(xml: bytes) -> bytes:
    """What stands between the tags of the root."""
    parser, tags = expat.ParserCreate(), list[int]()

    def start(name: str, attributes: dict[str, str]) -> None:
        if not tags:
            tags.append(parser.CurrentByteIndex)

    def end(name: str) -> None:
        tags.append(parser.CurrentByteIndex)

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.Parse(xml, True)
    opening = _TAG.match(xml, tags[0])
    assert opening is not None
    return b'' if opening.group().endswith(b'/>') else xml[opening.end():tags[-1]]

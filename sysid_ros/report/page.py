"""A report as one HTML file that asks nothing of any other: script, style and data are inside.

Text from recordings and robot descriptions is escaped by Jinja2's autoescape; figures are JSON in
base 64, which no text can end early; and a content security policy forbids requests and every
script but the page's own. Figures and Plotly's script are compressed, which makes a third of them;
browsers unpack them.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemBytecodeCache, FileSystemLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup

from sysid_ros.errors import ConfigurationError
from sysid_ros.report.headline import percent
from sysid_ros.report.player import Player
from sysid_ros.report.plotly_script import packed, plotly_script
from sysid_ros.report.plots import Figure
from sysid_ros.report.report import Report
from sysid_ros.report.sections.section import Section
from sysid_ros.report.tables import counted, number

_HERE = Path(__file__).parent
_NONE = '–'


def render_page(report: Report) -> bytes:
    """The report as an HTML file.

    Args:
        report: The report.

    Raises:
        ConfigurationError: Plotly is not installed.
    """
    sections: list[dict[str, Any]] = []
    drawn: dict[str, Figure | Player] = {}
    for section in report.sections:
        figures, players = section.figures(), section.players()
        drawn |= {f'{section.section}-{name}': each for name, each in (figures | players).items()}
        sections.append({
            'name': section.section, 'title': section.title,
            'body': _render_section(section, figures)})
    carried = packed(json.dumps(drawn, allow_nan=False))
    return _environment().get_template('page.html.j2').render(
        report=report, sections=sections,
        nonce=_nonce(carried, *(each['body'] for each in sections)),
        style=Markup((_HERE / 'page.css').read_text(encoding='utf-8')),
        script=Markup('\n'.join(
            (_HERE / name).read_text(encoding='utf-8') for name in ('player.js', 'page.js'))),
        figures=Markup(carried), plotly=Markup(plotly_script()),
    ).encode()


def render_document(report: Report, source: Path) -> bytes:
    """The page of a report that was read from a file, which may have been changed since.

    Args:
        report: The report.
        source: The file, for errors.

    Raises:
        ConfigurationError: Plotly is not installed, or series that belong together have other
            lengths, which the schema cannot say.
    """
    try:
        return render_page(report)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise ConfigurationError(
            'what the report holds does not fit together, as if it had been changed',
            where=str(source), fix='Write it anew: sysid report RUN --recordings') from error


def _nonce(*content: str) -> str:
    """What scripts of the page are told by: a digest of its content, which cannot hold it.

    The same report makes the same page.
    """
    digest = hashlib.sha256('\0'.join(content).encode()).digest()
    return base64.urlsafe_b64encode(digest[:18]).decode()


def _render_section(section: Section, figures: dict[str, Figure]) -> Markup:
    template = section.template()
    environment = _environment(template.parent)
    return Markup(environment.get_template(template.name).render(
        section=section, plot=_placer(section, figures), player=_player_placer(section)))


def _placer(section: Any, figures: dict[str, Figure]) -> Callable[[str, str], Markup]:
    def plot(name: str, text: str) -> Markup:
        """The place of a figure, with the text that stands for it where it cannot be seen."""
        return Markup(
            '<div class="plot" role="img" data-figure="{}" aria-label="{}" style="height:{}px">'
            '</div>').format(
                f'{section.section}-{name}', text, int(figures[name]['height']))
    return plot


def _player_placer(section: Any) -> Callable[[str, str], Markup]:
    def player(name: str, text: str) -> Markup:
        """The place of a player; ``player.js`` fills it."""
        return Markup('<div class="player" data-player="{}" aria-label="{}"></div>').format(
            f'{section.section}-{name}', text)
    return player


class _CompiledTemplates(FileSystemBytecodeCache):
    """Compiled templates beside compiled modules, where there may be files of their own.

    To compile all of them takes a third of a second.
    """

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep a template; where the package must not be written to, it is compiled every time."""
        with suppress(OSError):
            Path(self.directory).mkdir(exist_ok=True)
            super().dump_bytecode(bucket)


@cache
def _environment(folder: Path = _HERE) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(folder), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
        bytecode_cache=_CompiledTemplates(str(folder / '__pycache__')))
    environment.filters['counted'] = counted
    environment.filters['number'] = _number
    environment.filters['percent'] = _percent
    return environment


def _number(value: float | None, digits: int = 3) -> str:
    return _NONE if value is None else number(value, digits)


def _percent(value: float | None) -> str:
    return _NONE if value is None else percent(value)

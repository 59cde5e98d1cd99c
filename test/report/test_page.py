import builtins
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from support.report_runs import (
    HOSTILE,
    changed_report,
    finished_run,
    forget_numbers,
    multiply_joints,
    rename_everything,
    report,
)
from sysid_ros.errors import ConfigurationError
from sysid_ros.report import page
from sysid_ros.report.plotly_script import plotly_script
from sysid_ros.report.plots import label
from sysid_ros.report.sections.registry import SECTIONS
from sysid_ros.report.sections.residuals import worst_first
from sysid_ros.runs.report_files import write_page

pytest.importorskip('plotly', reason='the page is drawn by plotly')


class Elements(HTMLParser):
    """Elements and attributes of a page, and the text outside of scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.found, self.words, self._raw = [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        self._raw = tag in ('script', 'style')

    def handle_endtag(self, tag):
        self._raw = False

    def handle_data(self, data):
        if not self._raw:
            self.words.append(data)


def render(shown):
    return Elements(page.render_page(shown).decode())


def test_names_that_are_code_stay_text():
    plain, hostile = render(report()), render(changed_report(rename_everything(HOSTILE)))
    assert [tag for tag, _ in hostile.found].count('script') == 3
    assert not {tag for tag, _ in hostile.found} & {'img', 'iframe', 'object', 'embed', 'link'}
    assert not [name for _, attributes in hostile.found for name in attributes if name[:2] == 'on']
    # Templates are not evaluated twice.
    assert '49' not in ''.join(hostile.words).replace('{{ 7 * 7 }}', '')[:400]
    links = [attributes['href'] for tag, attributes in hostile.found if tag == 'a']
    assert links == [attributes['href'] for tag, attributes in plain.found if tag == 'a']
    assert all(link.startswith('#') for link in links)


def test_names_that_are_code_stay_text_in_figures():
    for section in changed_report(rename_everything(HOSTILE)).sections:
        assert '<a' not in str(section.figures())
        assert '<img' not in str(section.figures())


def test_labels_are_escaped_once_and_cut_in_the_middle():
    assert label('a<b>&c') == 'a&lt;b&gt;&amp;c'
    assert label('x' * 50 + '_joint') == f'{"x" * 17}…{"x" * 11}_joint'


def test_the_page_forbids_requests_and_asks_for_none():
    text = page.render_page(report()).decode()
    policy = next(
        attributes['content'] for tag, attributes in Elements(text).found
        if tag == 'meta' and attributes.get('http-equiv') == 'Content-Security-Policy')
    assert "default-src 'none'" in policy
    assert 'unsafe-inline' not in re.search(r'script-src ([^;]*)', policy)[1]
    for tag, attributes in Elements(text).found:
        for name in ('src', 'srcset', 'action', 'data', 'poster'):
            assert name not in attributes, (tag, attributes)


def test_every_figure_has_a_place_and_every_place_a_figure():
    shown = report()
    places = [attributes['data-figure'] for _, attributes in render(shown).found
              if 'data-figure' in attributes]
    figures = [f'{section.section}-{name}' for section in shown.sections
               for name in section.figures()]
    assert sorted(places) == sorted(figures)
    assert len(set(places)) == len(places)


def test_a_page_without_any_number_is_a_page():
    text = ' '.join(render(changed_report(forget_numbers)).words)
    assert 'None' not in text
    assert 'nan' not in text.split()


def test_a_page_of_long_names_is_a_page():
    long = 'a_very_long_name_of_a_joint_' * 12
    assert long in ' '.join(render(changed_report(rename_everything(long))).words)


def test_a_page_is_short_enough_to_be_mailed():
    assert (finished_run() / 'report.html').stat().st_size < 5e6


@pytest.mark.parametrize(('count', 'said'), [(1, '1 stretch of'), (3, '3 stretches of')])
def test_one_simulated_stretch_is_one(count, said):
    def simulate(data):
        for section in data['sections']:
            if section['section'] == 'simulation':
                section['stretches'] = count

    assert said in ' '.join(render(changed_report(simulate)).words)


def forget_later_entries(data):
    """What reports had not when the format was new."""
    del data['kind']
    for section in data['sections']:
        for name in ('motion', 'before_name', 'after_name', 'boxes', 'ends', 'identified_name',
                     'prior_name'):
            if section['section'] != 'robot_view' or name != 'ends':
                section.pop(name, None)
        for body in section.get('bodies', ()):
            del body['tree_index']


def test_a_report_of_an_earlier_version_is_a_page_whose_robot_stands_still():
    elements = render(changed_report(forget_later_entries))
    assert not [attributes for _, attributes in elements.found if 'data-player' in attributes]
    assert any(attributes.get('data-figure') == 'robot_view-side'
               for _, attributes in elements.found)


def test_joints_with_the_largest_errors_are_drawn_and_the_others_are_a_table():
    errors = np.array([0.1, np.nan, 0.5, 0.3])
    assert worst_first(errors) == [2, 3, 0, 1]
    drawn = worst_first(np.linspace(0.0, 1.0, 1000))
    assert len(drawn) < 100 and drawn[0] == 999

    def without_figures(document):
        section = next(each for each in document['sections'] if each['section'] == 'residuals')
        joint = section['joints'][-1]
        names = ('joint', 'unit', 'position_unit', 'rms')
        section['joints'][-1] = {name: joint[name] for name in names} | {'joint': 'quiet_joint'}

    whole, short = render(report()), render(changed_report(without_figures))
    figures = [sum('data-figure' in attributes for _, attributes in each.found)
               for each in (whole, short)]
    assert figures[0] - figures[1] == 6
    text = ' '.join(short.words)
    assert '1 joint with smaller errors' in text and 'quiet_joint' in text


def test_a_page_of_a_hundred_joints_is_short_enough_and_has_every_figure():
    shown = changed_report(multiply_joints(25))
    text = page.render_page(shown).decode()
    assert len(text) < 5e6
    for section in shown.sections:
        for name in section.figures():
            assert f'data-figure="{section.section}-{name}"' in text


def test_the_first_words_are_the_verdict_and_three_sentences():
    words = ' '.join(' '.join(render(report()).words).split())
    begin = words.index('Committable')
    assert 'Next:' in words[begin:begin + 900]


def test_without_plotly_there_is_no_page_and_it_is_said_how_to_get_one(tmp_path, monkeypatch):
    def refuse(name, *arguments, **more):
        if name.startswith('plotly'):
            raise ImportError(f'No module named {name!r}')
        return real(name, *arguments, **more)

    # The run is made once for all tests, with its page.
    shown, real = report(), builtins.__import__
    plotly_script.cache_clear()
    monkeypatch.setattr(builtins, '__import__', refuse)
    with pytest.raises(ConfigurationError, match='pip install --upgrade plotly'):
        page.render_page(shown)
    old = tmp_path / 'report.html'
    old.write_text('the page of another run')
    assert 'sysid report' in write_page(old, shown)
    assert not old.exists()


def test_what_pages_are_made_of_is_installed_with_the_package():
    folder = Path(page.__file__).parent
    for name in ('page.html.j2', 'page.css', 'page.js', 'report.schema.json'):
        assert (folder / name).is_file(), name
    for section in SECTIONS:
        assert section.template().is_file(), section

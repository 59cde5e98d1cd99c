"""Pages of the documentation: all in the nav; links, commands and settings in them are valid."""

import argparse
import ast
import functools
import importlib
import re
import shlex
from pathlib import Path

import pytest
import yaml

from sysid_ros.cli.main import add_verbs, named_verbs
from sysid_ros.errors import SysidError
from sysid_ros.estimation.identification import IdentificationSettings
from sysid_ros.excitation.configuration import ExcitationSettings
from sysid_ros.robot.description.planar.mechanism_settings import MechanismSettings
from sysid_ros.robot.description.planar.spanning_tree import planar_tree
from sysid_ros.robot.loops import LoopSettings
from sysid_ros.settings import parse_settings

PROJECT = Path(__file__).resolve().parents[2]
DOCS = PROJECT / 'docs'
PAGES = sorted(DOCS.rglob('*.md'))
# Pages with links, commands and settings that people type.
WRITTEN = [*PAGES, PROJECT / 'README.md', PROJECT / 'CONTRIBUTING.md']
FENCE = re.compile(r'^ *```(\w*)\n(.*?)^ *```', re.MULTILINE | re.DOTALL)
INLINE = re.compile(r'`([^`\n]+(?:\n[^`\n]+)?)`')
LINK = re.compile(r'\[[^\]]*\]\(([^)\s]+)\)')
SECTIONS = ('robot', 'recording', 'processing', 'fit', 'known')
# What a fragment of settings is put into.
ROBOT = {'urdf': 'robot.urdf'}


def name_of(page):
    return str(page.relative_to(PROJECT))


def prose(page):
    """Text of a page without its blocks of code."""
    return FENCE.sub('', page.read_text(encoding='utf-8'))


def blocks(language):
    """Blocks of code in a language, with where they stand."""
    for page in WRITTEN:
        text = page.read_text(encoding='utf-8')
        for block in FENCE.finditer(text):
            if block[1] == language:
                line = text[:block.start()].count('\n') + 1
                yield pytest.param(block[2], id=f'{name_of(page)}:{line}')


def anchors(page):
    """Anchors of a page's headings, as GitHub and MkDocs make them."""
    found = set()
    for heading in re.findall(r'^#+ +(.+)$', prose(page), re.MULTILINE):
        words = re.sub(r'[^\w\- ]', '', re.sub(r'\[([^\]]*)\]\([^)]*\)', r'\1', heading)).lower()
        found.add(words.strip().replace(' ', '-'))
    return found


def in_nav(entry):
    """Files that a part of the nav names."""
    if isinstance(entry, str):
        return [entry]
    values = entry.values() if isinstance(entry, dict) else entry
    return [name for value in values for name in in_nav(value)]


def commands():
    """Command lines of ``sysid`` in blocks of a shell, whole; and those in sentences."""
    for block in blocks('sh'):
        text = block.values[0].replace('\\\n', ' ')
        for line in text.splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] == ['sysid'] or words[:2] == ['ros2', 'sysid']:
                yield pytest.param(words[words.index('sysid') + 1:], id=f'{block.id}: {line[:60]}')


def named_commands():
    """Verb and options of ``sysid`` commands that sentences name."""
    for page in WRITTEN:
        for code in INLINE.findall(prose(page)):
            words = code.split()
            if words[0] == 'sysid' and len(words) > 1 and not words[1].startswith(('-', '<')):
                yield pytest.param(words[1:], id=f'{name_of(page)}: {code[:60]}')


class Refusing(argparse.ArgumentParser):
    def error(self, message):
        raise AssertionError(message)


@functools.cache
def parser(verb):
    """The parser of one verb, which raises where the terminal would end."""
    root = Refusing(prog='sysid')
    add_verbs(root, [verb])
    return root


def verb_of(words):
    """The verb of a command line."""
    verb, *others = named_verbs(words)
    assert not others, f'{words[0]} is no verb'
    return verb


def test_the_nav_names_every_page_once_and_no_other():
    nav = in_nav(yaml.safe_load((PROJECT / 'mkdocs.yml').read_text(encoding='utf-8'))['nav'])
    assert len(nav) == len(set(nav))
    assert set(nav) == {str(page.relative_to(DOCS)) for page in PAGES}


@pytest.mark.parametrize('page', WRITTEN, ids=name_of)
def test_every_link_leads_to_a_file_and_a_heading(page):
    broken = []
    for target in LINK.findall(prose(page)):
        if re.match(r'\w+:', target):
            continue
        file, _, anchor = target.partition('#')
        there = (page.parent / file).resolve() if file else page
        if not there.exists() or (anchor and anchor not in anchors(there)):
            broken.append(target)
    assert not broken


def test_the_front_page_is_short():
    assert len((PROJECT / 'README.md').read_text(encoding='utf-8').splitlines()) <= 100


def recipes(page):
    """Blocks of a page that install the package in a ROS distribution, as lines."""
    found = FENCE.findall(page.read_text(encoding='utf-8'))
    return [text.splitlines() for language, text in found if 'requirements-ros.txt' in text]


def test_the_images_of_distributions_are_tried_by_the_recipe_whose_last_step_compiles_ahead():
    (recipe,) = recipes(DOCS / 'how-to/install.md')
    assert recipes(PROJECT / 'README.md') == [recipe]
    assert recipe[-1] == 'sysid compile'
    steps = [step for line in recipe for step in line.split(' && ')]
    workflow = (PROJECT / '.github/workflows/distributions.yml').read_text(encoding='utf-8')
    places = [workflow.find(step) for step in steps if not step.startswith(('cd ', 'sudo '))]
    assert len(places) == len(steps) - 2
    assert -1 not in places and places == sorted(places)


@pytest.mark.parametrize('words', list(commands()))
def test_a_command_in_a_block_parses(words):
    if words[0] != '--help':
        parser(verb_of(words)).parse_args(words)


@pytest.mark.parametrize('words', list(named_commands()))
def test_a_command_in_a_sentence_names_a_verb_and_its_options(words):
    verb = argparse.ArgumentParser()
    module = verb_of(words).replace(' ', '_')
    importlib.import_module(f'sysid_ros.cli.{module}').add_arguments(verb)
    known = {option for action in verb._actions for option in action.option_strings}
    assert {word for word in words if re.match(r'--?[a-z]', word)} <= known


@pytest.mark.parametrize('text', list(blocks('python')))
def test_python_in_a_block_compiles_and_imports_what_there_is(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            module = importlib.import_module(node.module)
            assert all(hasattr(module, alias.name) for alias in node.names)


def require_valid(data):
    """Settings, or a fragment of them, with what it leaves out filled in."""
    if 'ros__parameters' in str(data):
        pytest.skip('parameters of nodes are checked with the files of config/')
    if 'points' in data:
        return planar_tree(parse_settings(MechanismSettings, data, 'docs'), 'docs')
    if set(data) & {'actuated', 'closures', 'assembly'}:
        return parse_settings(LoopSettings, data, 'docs')
    if set(data) & {'motion', 'limits', 'clearance', 'design'}:
        return parse_settings(ExcitationSettings, {'robot': ROBOT, **data}, 'docs')
    filled = {**data, 'recording': with_joints(data.get('recording', {}))}
    if 'robot' in data and not {'urdf', 'description'} & set(data['robot']):
        filled['robot'] = {**ROBOT, **data['robot']}
    return parse_settings(IdentificationSettings, filled, 'docs')


def with_joints(recording):
    """A section with what a fragment leaves out, and as many joints as its lists have entries."""
    whole = {'format': 'rosbag', 'file': 'bag'} | recording
    if whole['format'] != 'rosbag' or 'transmission' in whole:
        columns = {'array': 'x'} if whole['format'] == 'npz' else {}
        whole = {'time': {'rate': 100.0}, 'position': columns} | whole
        if 'format' not in recording:
            whole['format'] = 'csv'
    lengths = [
        len(value) for part in whole.values() if isinstance(part, dict)
        for value in part.values() if isinstance(value, list)]
    if 'joints' not in whole:
        whole['joints'] = [f'joint_{k}' for k in range(max(lengths, default=2))]
    return whole


@pytest.mark.parametrize('text', list(blocks('yaml')))
def test_settings_in_a_block_are_valid(text):
    require_valid(yaml.safe_load(text))


def named_settings():
    """Settings, and paths of keys, that sentences name."""
    for page in WRITTEN:
        if page.parent.name == 'reference':
            continue
        for code in INLINE.findall(prose(page)):
            if re.match(rf'({"|".join(SECTIONS)}):', code) and '…' not in code:
                yield pytest.param(' '.join(code.split()), id=f'{name_of(page)}: {code[:60]}')


@pytest.mark.parametrize('code', list(named_settings()))
def test_settings_in_a_sentence_exist(code):
    if re.fullmatch(r'(\w+: ?)+\w*', code) is None:
        require_valid(yaml.safe_load(code))
        return
    *section, key = re.findall(r'\w+', code)
    reference = (DOCS / 'reference' / 'settings.md').read_text(encoding='utf-8')
    table = reference.partition(f'### {".".join(section)}\n' if section else '## ')[2]
    assert f'\n| `{key}` |' in table.partition('\n##')[0]


def test_a_wrong_command_key_and_link_would_be_found(tmp_path):
    with pytest.raises(AssertionError):
        parser('fit').parse_args(['fit', 'a.yaml', '--hold', '0.3', '--nothing'])
    with pytest.raises(SysidError):
        require_valid({'processing': {'parallel_filer': {'cutoff': 10.0}}})
    page = tmp_path / 'page.md'
    page.write_text('# A heading: `here`\n')
    assert anchors(page) == {'a-heading-here'}


def test_papers_to_be_cited_have_authors_and_a_year_and_most_a_place_to_be_found():
    cited = yaml.safe_load((PROJECT / 'CITATION.cff').read_text(encoding='utf-8'))['references']
    assert all(paper['authors'] and paper['year'] > 1980 for paper in cited)
    lost = [paper['title'] for paper in cited if not {'doi', 'url'} & paper.keys()]
    # The one of recursive least squares is known here by its text alone.
    assert len(lost) <= 1
    names = {author['family-names'] for paper in cited for author in paper['authors']}
    headings = re.findall(r'(?m)^## ([^:]+):', (DOCS / 'papers.md').read_text(encoding='utf-8'))
    authors = {name.split('-')[-1] for heading in headings
               for name in re.split(r', | and ', heading)}
    assert len(headings) == 5
    assert authors <= names | {name.split('-')[-1] for name in names}

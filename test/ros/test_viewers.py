"""Files for RViz and PlotJuggler: valid in their formats, and of topics that nodes publish."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.main import main
from sysid_ros.report import inertia_scene, motion_scene
from sysid_ros.report.plotjuggler import plotjuggler_layout
from sysid_ros.robot.model import RobotModel

ROOT = Path(__file__).resolve().parents[2]
RVIZ = ROOT / 'config' / 'rviz' / 'sysid.rviz'
DEMO = ROOT / 'config' / 'demo' / 'demo_robot.urdf'
LAYOUT = ROOT / 'config' / 'plotjuggler' / 'demo.xml'
# Published by the driver of a robot or robot_state_publisher.
OF_THE_ROBOT = {'robot_description', 'joint_states'}
MARKERS = 'visualization_msgs/MarkerArray'
GROUPS = {
    'inertia_markers': {
        inertia_scene.DESCRIBED, inertia_scene.DESCRIBED_COM, inertia_scene.IDENTIFIED_INERTIA,
        inertia_scene.IDENTIFIED_COM},
    'motion_markers': {
        motion_scene.PATH, motion_scene.OBSTACLES, motion_scene.KEPT_FREE, motion_scene.KEPT_IN},
}


@pytest.fixture(scope='module')
def published():
    """Type and durability by topic, as the reference says."""
    page = (ROOT / 'docs' / 'reference' / 'interfaces.md').read_text(encoding='utf-8')
    table = page.partition('## Topics')[2].partition('\n## ')[0]
    rows = re.findall(r'^\| `([^`]+)` \| `([^`]+)` \| \w+ \| (yes|no) \|$', table, re.MULTILINE)
    assert len(rows) > 15
    return {name: (kind, latched == 'yes') for name, kind, latched in rows}


@pytest.fixture(scope='module')
def displays():
    return yaml.safe_load(RVIZ.read_text(encoding='utf-8'))['Visualization Manager']['Displays']


def topics_of(value):
    """Every topic of a configuration: a map with a name and what is asked of its publisher."""
    if isinstance(value, dict):
        if 'Durability Policy' in value:
            yield value
        for each in value.values():
            yield from topics_of(each)
    elif isinstance(value, list):
        for each in value:
            yield from topics_of(each)


def test_rviz_shows_robot_frames_and_all_marker_topics(displays, published):
    kinds = [each['Class'].removeprefix('rviz_default_plugins/') for each in displays]
    assert {'RobotModel', 'TF', 'MarkerArray'} <= set(kinds)
    shown = {each['Topic']['Value'] for each in displays if each['Class'].endswith('MarkerArray')}
    assert shown == {name for name, (kind, _) in published.items() if kind == MARKERS}


def test_rviz_asks_for_topics_that_are_published_and_for_the_last_message(displays, published):
    found = list(topics_of(displays))
    assert len(found) == 4
    for topic in found:
        # Relative to the namespace that RViz runs in.
        assert not topic['Value'].startswith('/')
        assert topic['Value'] in OF_THE_ROBOT or published[topic['Value']][1]
        assert topic['Durability Policy'] == 'Transient Local'
        assert topic['Reliability Policy'] == 'Reliable'


def test_rviz_knows_the_groups_of_markers(displays):
    for each in displays:
        if each['Class'].endswith('MarkerArray'):
            topic = each['Topic']['Value'].rpartition('/')[2]
            assert set(each['Namespaces']) == GROUPS[topic]
        # RViz has both, and goes by either.
        assert each['Enabled'] == each['Value']


def test_the_layout_of_the_demo_is_what_the_verb_writes(tmp_path):
    written = tmp_path / 'layout.xml'
    assert main(['model', str(DEMO), '--plotjuggler', str(written)]) == ExitCode.OK
    assert written.read_text(encoding='utf-8') == LAYOUT.read_text(encoding='utf-8'), (
        'sysid model config/demo/demo_robot.urdf --plotjuggler config/plotjuggler/demo.xml')


def test_every_joint_has_measured_predicted_and_unexplained_torque(published):
    joints = RobotModel.from_description(DEMO).joint_names
    root = ElementTree.parse(LAYOUT).getroot()
    plots = {}
    for area in root.iter('DockArea'):
        (plot,) = area.findall('plot')
        plots.setdefault(area.get('name'), []).extend(
            curve.get('name') for curve in plot.findall('curve'))
    assert tuple(plots) == joints
    streamed = root.find("Plugins/plugin[@ID='ROS2 Topic Subscriber']/selected_topics")
    topics = streamed.get('value').split(';')
    assert topics == [each.get('name') for each in streamed]
    for joint, curves in plots.items():
        assert sorted(curves) == sorted(f'{topic}/{joint}/effort' for topic in topics)
    names = {topic.removeprefix('/') for topic in topics}
    assert names == OF_THE_ROBOT - {'robot_description'} | {
        f'identification_node/{what}_efforts' for what in ('measured', 'predicted', 'residual')}
    for name in names:
        assert published[name][0] == 'sensor_msgs/JointState'


def test_splitters_have_as_many_sizes_as_plots():
    for splitter in ElementTree.parse(LAYOUT).getroot().iter('DockSplitter'):
        sizes = [float(size) for size in splitter.get('sizes').split(';')]
        assert len(sizes) == len(splitter) == int(splitter.get('count'))
        assert sum(sizes) == pytest.approx(1.0, abs=1e-5)


def test_a_namespace_and_names_that_are_markup_come_out_whole():
    root = ElementTree.fromstring(
        plotjuggler_layout(['a<b>&"c"'], '/left/arm/').encode())
    assert {curve.get('name') for curve in root.iter('curve')} >= {
        '/left/arm/joint_states/a<b>&"c"/effort',
        '/left/arm/identification_node/residual_efforts/a<b>&"c"/effort'}


def test_a_layout_that_cannot_be_written_is_told(tmp_path, capsys):
    assert main([
        'model', str(DEMO), '--plotjuggler', str(tmp_path / 'none' / 'x.xml')]) != ExitCode.OK
    assert 'cannot be written: No such file or directory' in capsys.readouterr().err

"""Layouts of PlotJuggler 3: torques of each joint, measured, predicted and unexplained, over time.

The file names series as PlotJuggler's parser of ``sensor_msgs/JointState`` does: topic, joint,
``effort``. It asks the plugin that streams ROS 2 for these topics, by the stamps of the messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from sysid_ros.report.plots import BEFORE, IDENTIFIED, RECORDED, RESIDUAL

_STREAMER = 'ROS2 Topic Subscriber'
_MEASURED, _PREDICTED, _RESIDUAL, _RAW = (
    'identification_node/measured_efforts', 'identification_node/predicted_efforts',
    'identification_node/residual_efforts', 'joint_states')
#: Topics of the layout, relative to the namespace of the nodes.
TOPICS = (_RAW, _MEASURED, _PREDICTED, _RESIDUAL)


def plotjuggler_layout(joints: Sequence[str], namespace: str = '') -> str:
    """A layout with a tab of torques and a tab of residuals, one plot per joint in each.

    Args:
        joints: The joints, by their names in joint states.
        namespace: Namespace of the nodes.

    Returns:
        The XML file.
    """
    root = ElementTree.Element('root')
    window = ElementTree.SubElement(
        root, 'tabbed_widget', {'parent': 'main_window', 'name': 'Main Window'})
    _tab(window, 'Torques', joints, namespace, (
        (_RAW, BEFORE), (_MEASURED, RECORDED), (_PREDICTED, IDENTIFIED)))
    _tab(window, 'Residuals', joints, namespace, ((_RESIDUAL, RESIDUAL),))
    ElementTree.SubElement(window, 'currentTabIndex', index='0')
    ElementTree.SubElement(root, 'use_relative_time_offset', enabled='1')
    plugins = ElementTree.SubElement(root, 'Plugins')
    streamer = ElementTree.SubElement(plugins, 'plugin', ID=_STREAMER)
    for name, value in (
        ('use_header_stamp', 'true'), ('discard_large_arrays', 'true'), ('max_array_size', '100'),
        ('boolean_strings_to_number', 'false'), ('remove_suffix_from_strings', 'false'),
    ):
        ElementTree.SubElement(streamer, name, value=value)
    topics = [_absolute(topic, namespace) for topic in TOPICS]
    # Newer plugins read the attribute, older ones the elements.
    selected = ElementTree.SubElement(streamer, 'selected_topics', value=';'.join(topics))
    for topic in topics:
        ElementTree.SubElement(selected, 'topic', name=topic)
    ElementTree.SubElement(root, 'previouslyLoaded_Datafiles')
    ElementTree.SubElement(root, 'previouslyLoaded_Streamer', name=_STREAMER)
    ElementTree.SubElement(root, 'customMathEquations')
    ElementTree.SubElement(root, 'snippets')
    ElementTree.indent(root, ' ')
    return "<?xml version='1.0' encoding='UTF-8'?>\n" + ElementTree.tostring(
        root, encoding='unicode') + '\n'


def _tab(
    window: ElementTree.Element, name: str, joints: Sequence[str], namespace: str,
    curves: Sequence[tuple[str, str]],
) -> None:
    """One tab, its plots one below the other."""
    tab = ElementTree.SubElement(window, 'Tab', tab_name=name, containers='1')
    container = ElementTree.SubElement(tab, 'Container')
    part = f'{1.0 / len(joints):.6f}'
    # Rows are what PlotJuggler calls a splitter of orientation "-".
    rows = ElementTree.SubElement(
        container, 'DockSplitter', orientation='-', count=str(len(joints)),
        sizes=';'.join([part] * len(joints)))
    for joint in joints:
        area = ElementTree.SubElement(rows, 'DockArea', name=joint)
        plot = ElementTree.SubElement(
            area, 'plot', mode='TimeSeries', style='Lines', flip_x='false', flip_y='false')
        ElementTree.SubElement(plot, 'limitY')
        for topic, colour in curves:
            ElementTree.SubElement(
                plot, 'curve', name=f'{_absolute(topic, namespace)}/{joint}/effort', color=colour)


def _absolute(topic: str, namespace: str) -> str:
    return '/' + '/'.join(part for part in (namespace.strip('/'), topic) if part)

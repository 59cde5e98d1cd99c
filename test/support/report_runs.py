"""Runs for tests of reports, and what a hostile or empty recording would make of them."""

import copy
import json
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from support.finished_fit import make_fit
from support.golden_problems import arm_urdf
from support.simulated_arm import SimulatedArm
from sysid_ros.cli.main import main
from sysid_ros.report.report import Report

EXCITATION = """\
robot: {urdf: arm.urdf}
motion: {duration: 4.0, harmonics: [1, 2, 3]}
clearance:
  boxes: [{name: wall, lower: [0.9, -2, -2], upper: [1.2, 2, 2]}]
design: {starts: 1, iterations: 4, seed: 4}
"""
#: Closes elements, attributes and scripts, and draws attention to itself where it runs.
HOSTILE = '</script><img src=x onerror="alert(1)">\'"&{{ 7 * 7 }}<a href="http://example.org">'
# Floats that a report always has.
_ALWAYS = {'good_below', 'correlation', 'well_below'}
_CHOSEN = {'at_bound', 'file', 'rows', 'unit', 'position_unit', 'kind', 'kinds'}


@cache
def finished_run():
    """Folder of a fit of a simulated arm, made once."""
    return make_fit(Path(mkdtemp()), SimulatedArm(1)) / 'fit'


@cache
def planned_motion():
    """Folder of a motion that was designed for an arm beside a wall, made once."""
    folder = Path(mkdtemp())
    (folder / 'arm.urdf').write_text(arm_urdf(), encoding='utf-8')
    (folder / 'arm.yaml').write_text(EXCITATION, encoding='utf-8')
    assert main(['excite', str(folder / 'arm.yaml'), '-o', str(folder / 'motion')]) == 0
    return folder / 'motion'


def report():
    """The report of that run."""
    return Report.load(finished_run() / 'report.json')


def changed_report(change):
    """The report with every text, or every number, replaced.

    Args:
        change: Takes the document as plain values, and changes it.
    """
    data = copy.deepcopy(json.loads((finished_run() / 'report.json').read_text()))
    change(data)
    return Report.model_validate(data)


def rename_everything(name):
    """A change that replaces names of joints, parameters, files and robots, and all sentences."""
    def change(data):
        data['name'] = data['robot'] = name
        for section in data['sections']:
            for key in section.keys() - {'section'}:
                section[key] = _renamed(section[key], name, key)
    return change


def forget_numbers(data):
    """A change that replaces every number that may be missing by null."""
    for section in data['sections']:
        for key, value in section.items():
            section[key] = _forgotten(value, key)


def multiply_joints(times):
    """A change that makes a robot of so many times as many joints."""
    def change(data):
        for section in data['sections']:
            for holder in (section, *section.get('groups', ()), *section.get('errors', ())):
                if isinstance(holder, dict) and isinstance(holder.get('joints'), list):
                    holder['joints'] = holder['joints'] * times
    return change


def _renamed(value, name, key=''):
    if isinstance(value, dict):
        return {own: _renamed(each, name, own) for own, each in value.items()}
    if isinstance(value, list):
        return [_renamed(each, name, key) for each in value]
    # Units and kinds are words of this package.
    chosen = key in _CHOSEN or key.endswith('light')
    return name if isinstance(value, str) and not chosen else value


def _forgotten(value, key):
    if isinstance(value, dict):
        return {own: _forgotten(each, own) for own, each in value.items()}
    if isinstance(value, list):
        return [_forgotten(each, key) for each in value]
    return None if isinstance(value, float) and key not in _ALWAYS else value

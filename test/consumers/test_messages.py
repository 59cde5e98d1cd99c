"""The headers take every field of the messages, as these are defined now."""

import re
import subprocess
from pathlib import Path

import pytest

from support.cpp_programs import PROJECT, compile_program

HERE = Path(__file__).resolve().parent
HEADER = PROJECT / 'include/sysid_ros/identified_parameters.hpp'
KINDS = {'string': 'std::string', 'float64': 'double', 'builtin_interfaces/Time': 'Time',
         'geometry_msgs/Inertia': 'Inertia'}
# Of other packages, as rosidl makes them.
FOREIGN = """\
#include <string>
#include <vector>
struct Time {int sec; unsigned nanosec;};
struct Vector3 {double x, y, z;};
struct Inertia {double m; Vector3 com; double ixx, ixy, ixz, iyy, iyz, izz;};
"""


def fields(path):
    """``(type, name)`` of a message, or of the request of a service."""
    request = path.read_text(encoding='utf-8').partition('\n---')[0]
    return re.findall(r'^([\w/]+(?:\[\])?)\s+(\w+)\s*(?:#|$)', request, re.MULTILINE)


def as_struct(folder, name):
    """A class with the fields that the definition has."""
    def member(kind):
        single = KINDS.get(kind.removesuffix('[]'), kind.removesuffix('[]'))
        return f'std::vector<{single}>' if kind.endswith('[]') else single

    path = PROJECT / folder / f'{name}.{folder}'
    members = ''.join(f'  {member(kind)} {field};\n' for kind, field in fields(path))
    return f'struct {name}\n{{\n{members}}};\n'


def test_a_message_and_an_acknowledgement_compile_and_keep_their_numbers(tmp_path):
    text = FOREIGN + ''.join(as_struct(*each) for each in (
        ('msg', 'JointDynamics'), ('msg', 'JointRange'), ('msg', 'FasterMotion'),
        ('msg', 'IdentifiedParameters'),
        ('srv', 'AcknowledgeRevision')))
    (tmp_path / 'messages.hpp').write_text(text, encoding='utf-8')
    program = compile_program(
        HERE / 'messages.cpp', tmp_path / 'messages', f'-I{tmp_path}')
    finished = subprocess.run([program], capture_output=True, text=True, check=False)
    assert (finished.returncode, finished.stdout) == (0, '')


@pytest.mark.parametrize(
    'message', ['JointDynamics', 'JointRange', 'FasterMotion', 'IdentifiedParameters'])
def test_no_field_of_a_message_is_left_out(message):
    struct = HEADER.read_text(encoding='utf-8').partition(f'struct {message}\n')[2]
    members = re.findall(
        r'^  [\w:<>]+ (\w+)(?: = NOT_KNOWN)?;', struct.partition('\n};')[0], re.MULTILINE)
    # The time of the message says nothing of the robot; links are one list here.
    named = {'stamp': None, 'link_names': 'links', 'link_inertias': 'links'}
    wanted = {named.get(name, name) for _, name in fields(PROJECT / f'msg/{message}.msg')}
    assert wanted - {None} == set(members)

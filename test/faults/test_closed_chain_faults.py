"""Closed loops that cannot be: refused by name, with what to do."""

import numpy as np
import pytest

from support import closed_robots as robots
from sysid_ros.errors import ConfigurationError, ModelError, ParameterError
from sysid_ros.mechanics.closures.closed_chain import closed_chain
from sysid_ros.mechanics.joint_terms.terms import StribeckFriction
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.loops import LoopSettings
from sysid_ros.robot.model import RobotModel

UP = robots.FOUR_BAR_ASSEMBLY


def linkage():
    return robots.four_bar_linkage()


def test_a_motion_beyond_a_dead_point_is_refused_and_the_way_to_it_said():
    chain = closed_chain(linkage().robot(['rocker_joint'], UP))
    with pytest.raises(ModelError, match=r'sample 1.*rocker_joint 2.*up to 2\.337 on the way'):
        chain.positions(np.array([[2.5], [2.0]]))
    q, reached = chain.reachable(np.array([[2.5], [2.0], [2.6]]))
    assert reached.tolist() == [True, False, True]


def test_a_path_through_a_singular_configuration_is_refused():
    # A parallelogram that is flat at zero could go on as an antiparallelogram.
    flat = (
        robots.Linkage('parallelogram')
        .rod('crank', 'world', (0.0, 0.0), 1.0, 1.0).rod('coupler', 'crank', (1.0, 0.0), 1.0, 2.0)
        .rod('rocker', 'world', (2.0, 0.0), 1.0, 1.0)
        .close('tip', 'coupler', (2.0, 0.0), 'rocker', (1.0, 0.0))
    )
    chain = closed_chain(flat.robot(['crank_joint'], {
        'crank_joint': 1.0, 'coupler_joint': -1.0, 'rocker_joint': 1.0}))
    assert np.allclose(chain.positions(np.array([[0.1]])), [[0.1, -0.1, 0.1]])
    with pytest.raises(ModelError, match='pass a singular configuration.*several ways'):
        chain.positions(np.array([[-0.5]]))
    with pytest.raises(ModelError, match='another assembly'):
        closed_chain(flat.robot(['crank_joint']))


def test_loops_that_contradict_their_lengths_are_refused_with_the_gap():
    short = (
        robots.Linkage('short').rod('crank', 'world', (0.0, 0.0), 1.0, 1.0)
        .rod('rocker', 'world', (4.0, 0.0), 1.0, 1.0)
        .rod('coupler', 'crank', (1.0, 0.0), 1.0, 1.0)
        .close('tip', 'coupler', (1.0, 0.0), 'rocker', (1.0, 0.0))
    )
    with pytest.raises(ModelError, match=r"closure 'tip'.*cannot be closed.*open by .* m"):
        closed_chain(short.robot(['crank_joint'], {'rocker_joint': 3.0}))


def test_a_loop_out_of_its_plane_is_refused_though_the_equations_in_the_plane_hold():
    apart = linkage()
    apart.closures[0]['first']['origin'] = (2.0, 0.0, 0.05)
    with pytest.raises(ModelError, match=r'open by 0\.05 m'):
        closed_chain(apart.robot(['crank_joint'], UP))


def test_a_branch_beyond_the_limits_of_a_passive_joint_is_refused():
    limited = linkage()
    limited.joints[1] = limited.joints[1].replace('continuous', 'revolute').replace(
        '<axis', '<limit lower="0" upper="3" velocity="1" effort="1"/><axis')
    assert closed_chain(limited.robot(['crank_joint'], UP)).assembly[1] > 0.0
    down = {'coupler_joint': -1.5, 'rocker_joint': -2.5}
    with pytest.raises(ModelError, match=r'coupler_joint.*branch.*found -1\.571; allowed 0 to 3'):
        closed_chain(limited.robot(['crank_joint'], down))


def test_an_under_actuated_robot_is_refused_and_the_free_joints_named():
    free = linkage().rod('flag', 'rocker', (1.0, 0.0), 0.5, 0.5)
    with pytest.raises(ModelError, match='2 independent.*3 passive.*free to move: flag_joint'):
        closed_chain(free.robot(['crank_joint'], UP))
    assert closed_chain(free.robot(['crank_joint', 'flag_joint'], UP)).assembly.shape == (4,)


def test_an_over_actuated_robot_is_refused_and_the_coupled_motors_named():
    with pytest.raises(ModelError, match='independently.*crank_joint, rocker_joint'):
        closed_chain(linkage().robot(['crank_joint', 'rocker_joint'], UP))


@pytest.mark.parametrize(('change', 'words'), [
    ({'actuated': ('crank',)}, "no such moving joint.*Did you mean 'crank_joint'"),
    ({'actuated': ('crank_joint', 'coupler_joint', 'rocker_joint')}, 'all joints are driven'),
    ({'actuated': ()}, 'no joint is driven'),
    ({'actuated': None}, 'not said which joints are driven'),
    ({'closures': ()}, 'nothing closes a loop'),
    ({'assembly': {'cranck_joint': 1.0}}, "Did you mean 'crank_joint'"),
])
def test_loops_that_do_not_fit_the_robot_are_refused(change, words):
    settings = linkage().loops(['crank_joint'], UP).model_copy(update=change)
    with pytest.raises(ModelError, match=words):
        RobotModel.from_urdf(linkage().urdf, loops=settings)


def test_a_closure_at_a_link_that_does_not_exist_is_refused():
    wrong = linkage()
    wrong.closures[0]['second']['link'] = 'rockr'
    with pytest.raises(ModelError, match="closure 'tip'.*found 'rockr'.*Did you mean 'rocker'"):
        wrong.robot(['crank_joint'], UP)


def test_a_closure_within_one_body_and_a_name_used_twice_are_refused():
    same, twice = linkage(), linkage()
    same.closures[0]['second']['link'] = 'coupler'
    with pytest.raises(ModelError, match='two places of one body'):
        closed_chain(same.robot(['crank_joint'], UP))
    twice.closures.append(twice.closures[0])
    with pytest.raises(ModelError, match="same name.*'tip'"):
        twice.robot(['crank_joint'], UP)


@pytest.mark.parametrize(('text', 'words'), [
    ('closures: [{name: a, kind: rod, first: {}, second: {}}]', 'a rod, and nothing else'),
    ('closures: [{name: a, kind: point, first: {}, second: {}, length: 1}]', 'a rod, and nothing'),
    ('closures: [{name: a, kind: pin, first: {}, second: {}}]', 'point'),
    ('closures: [{name: a, kind: rod, first: {}, second: {}, length: -1}]', 'allowed above 0'),
    ('actuatd: [a]', "Did you mean 'actuated'"),
    ('assembly: {a: .nan}', 'not finite'),
    ('closures: [{name: a, kind: point, first: {orign: [0, 0, 0]}, second: {}}]', 'orign'),
])
def test_a_file_of_loops_with_a_mistake_is_refused(tmp_path, text, words):
    path = tmp_path / 'loops.yaml'
    path.write_text(text)
    with pytest.raises(ConfigurationError, match=words):
        LoopSettings.load(path)


def test_motion_that_is_not_finite_or_has_the_wrong_shape_is_refused():
    chain = closed_chain(linkage().robot(['crank_joint'], UP))
    with pytest.raises(ParameterError, match='not finite'):
        chain.positions(np.array([[np.nan]]))
    with pytest.raises(ParameterError, match='wrong shape'):
        chain.positions(np.zeros((3, 2)))
    with pytest.raises(ParameterError, match='differ in number'):
        chain.motion(np.zeros((3, 1)), np.zeros((3, 1)), np.zeros((2, 1)))


def test_a_torque_model_of_loops_that_cannot_be_closed_is_refused_at_once():
    apart = linkage()
    apart.closures[0]['first']['origin'] = (9.0, 0.0, 0.0)
    with pytest.raises(ModelError, match='cannot be closed'):
        TorqueModel(apart.robot(['crank_joint'], UP))


def test_terms_with_shapes_are_refused_in_closed_loops():
    with pytest.raises(ModelError, match='StribeckFriction'):
        TorqueModel(robots.four_bar(), (StribeckFriction(smoothing=0.01),))

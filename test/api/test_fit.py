"""Fits by the front door: the page's own examples, and the same as the terminal finds."""

import contextlib
import json
import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

import sysid_ros as si
from support.simulated_arm import SimulatedArm
from sysid_ros.cli.main import main
from sysid_ros.recording.bag.write import write_bag
from sysid_ros.runs.judged import changed_since
from sysid_ros.runs.judgement import judge_again
from sysid_ros.runs.pack import pack_run

LOAD, SECONDS, RATE = 0.8, 16.0, 100.0
# Leaves nothing to the data, so that a fit takes a second.
QUICK = {
    'automatic': False, 'estimator': 'wls',
    'processing': {'parallel_filter': {'cutoff': 10.0, 'decimate_to': 25.0}}}
ARM = SimulatedArm(1)


def moved(arm, load=0.0):
    """Stamps, positions, velocities and torques of an arm that carries a load in [kg]."""
    t = np.arange(round(SECONDS * RATE)) / RATE
    q, v, a = arm.motion(t)
    tau = ARM.rigid(q, v, a)
    dry, viscous = ARM._friction
    tau = tau + dry * np.sign(v) + viscous * v
    carried = np.zeros_like(ARM._inertials)
    carried[-10] = load
    tau += ARM.model.regressor(q, v, a)[:, :, :len(carried)] @ carried
    random = np.random.default_rng(arm.seed)
    return t, q, v, tau + 0.02 * np.std(tau, axis=0) * random.normal(size=tau.shape)


def example_names():
    """What the examples of the page use; its files are in the current folder."""
    t, q, v, tau = moved(ARM)
    joints = list(ARM.joint_names)
    frame = {'t': t} | {
        f'{name}_{joint}': table[:, k] for name, table in (('q', q), ('v', v), ('tau', tau))
        for k, joint in enumerate(joints)}
    np.savetxt(
        'motion.csv', np.column_stack(list(frame.values())), delimiter=',', comments='',
        header=','.join(frame))
    write_bag('motion', t, ARM.joint_names, q, v, tau)
    second_t, second_q, _, second_tau = moved(SimulatedArm(2))
    return {
        't': t, 'q': q, 'v': v, 'tau': tau, 'robot_joints': joints, 'frame': frame,
        'tau_with_load': moved(ARM, LOAD)[3],
        'other': si.Recording.from_arrays(second_t, second_q, second_tau)}


@pytest.fixture(scope='module')
def page(tmp_path_factory, project):
    """What the examples of docs/python.md leave, run from the first to the last."""
    text = (project / 'docs' / 'python.md').read_text(encoding='utf-8')
    examples = re.findall(r'```python\n(.*?)```', text, re.DOTALL)
    assert len(examples) > 8
    folder = tmp_path_factory.mktemp('page')
    with contextlib.chdir(folder):
        (folder / 'robot.urdf').write_text(ARM.description, encoding='utf-8')
        names = example_names()
        for number, example in enumerate(examples):
            exec(compile(example, f'docs/python.md, example {number}', 'exec'), names)
    return SimpleNamespace(folder=folder, **{
        name: names[name] for name in (
            'fit', 'run', 'second', 'validation', 'load', 'notes', 'figure', 'recording', 'other',
            'known')})


@pytest.mark.slow
def test_a_fit_of_arrays_is_good_and_prints_its_verdict(page):
    assert str(page.fit).startswith('VERDICT: committable')
    assert page.fit.verdict.committable and not page.fit.verdict.reasons
    held_out = json.loads((page.fit.folder / 'evaluation.json').read_text())['held_out']
    assert held_out['relative_error'] < 0.05


@pytest.mark.slow
def test_the_terminal_finds_the_same_numbers(page, tmp_path):
    t, q, _, tau = moved(ARM)
    np.savez(tmp_path / 'recording.npz', t=t, q=q, tau=tau)
    settings = {
        'robot': {'urdf': str(page.folder / 'robot.urdf')},
        'recording': {
            'format': 'npz', 'file': 'recording.npz', 'joints': list(ARM.joint_names),
            'time': {'array': 't'}, 'position': {'array': 'q'}, 'effort': {'array': 'tau'}}}
    (tmp_path / 'settings.yaml').write_text(yaml.safe_dump(settings))
    main(['fit', str(tmp_path / 'settings.yaml'), '--holdout', '0.3', '-q',
          '-o', str(tmp_path / 'run')])
    terminal = si.Run.open(tmp_path / 'run')
    assert terminal.estimate.parameters.names == page.fit.estimate.parameters.names
    np.testing.assert_allclose(
        terminal.estimate.parameters.values, page.fit.estimate.parameters.values, rtol=1e-9,
        atol=1e-12)
    assert terminal.verdict.reasons == page.fit.verdict.reasons
    assert str(terminal) == str(page.fit)


def test_parameters_have_intervals_where_the_data_tells_them(page):
    _, viscous = ARM._friction
    for joint, true in zip(ARM.joint_names, viscous, strict=True):
        found = page.run.parameters[f'{joint}.viscous_friction']
        assert found.unit == 'N·m·s/rad' and found.prior != found.value
        lower, upper = found.interval
        assert lower < found.value < upper
        assert abs(found.value - true) < 3.0 * (upper - lower)
    untold = page.run.parameters['shoulder.mass']
    assert untold.interval is None and '±' not in str(untold)
    assert '±' in str(page.known[0])


def test_a_saved_run_can_be_moved_judged_again_and_packed(page, tmp_path):
    there = page.run.save(tmp_path / 'elsewhere')
    assert changed_since(there.folder, json.loads(
        (there.folder / 'verdict.json').read_text())) == ()
    assert yaml.safe_load((there.folder / 'settings.yaml').read_text())['folder'] == 'recordings'
    page.run.save(tmp_path / 'gone').folder.rename(tmp_path / 'moved')
    assert judge_again('moved', tmp_path / 'moved').startswith('Judged again')
    names = pack_run(there.folder, tmp_path / 'run.zip', recordings=True)
    assert 'recordings/recording.npz' in names
    with pytest.raises(si.ConfigurationError, match='the run is there already'):
        there.save(tmp_path / 'elsewhere')


def test_the_page_figure_and_files_are_there(page):
    assert (page.folder / 'report.html').read_text().startswith('<!DOCTYPE html>')
    # Torques of every joint, and what is left over of them.
    assert len(page.figure.axes) == 2 * len(ARM.joint_names)
    exported = si.RobotModel.from_urdf(page.folder / 'robot_identified.urdf')
    assert exported.joint_names == page.run.robot.joint_names
    assert any('torque_offset' in note for note in page.notes)
    assert 'torque_offset' in (page.folder / 'parameters.yaml').read_text()


def test_another_recording_is_predicted_and_one_that_was_fitted_is_no_validation(page):
    assert page.validation.prediction.held_out
    assert page.validation.prediction.candidate.relative_error < 0.05
    assert (page.run.folder / 'verdict_other_day.json').is_file()
    before = (page.run.folder / 'recordings' / 'recording.npz').read_bytes()
    again = page.run.validate(page.recording, name='recording')
    assert not again.prediction.held_out and not again.verdict.committable
    assert (page.run.folder / 'recordings' / 'recording.npz').read_bytes() == before
    with pytest.raises(si.ConfigurationError, match="is no name of a file.*'../x'"):
        page.run.validate(page.other, name='../x')


def test_a_load_is_told_from_a_run_or_from_two_recordings(page):
    assert page.load.mass == pytest.approx(LOAD, rel=0.05)
    t, q, _, tau = moved(ARM, LOAD)
    loaded = si.Recording.from_arrays(t, q, tau)
    two = si.payload(
        loaded, page.other, robot=str(page.folder / 'robot.urdf'),
        processing=QUICK['processing'])
    assert two.mass == pytest.approx(LOAD, rel=0.05)
    with pytest.raises(si.ConfigurationError, match="there is no robot.*Add robot='robot.urdf'"):
        si.payload(loaded, page.other)
    with pytest.raises(si.ConfigurationError, match='the robot is that of the run'):
        si.payload(loaded, page.run, robot='robot.urdf')


def test_a_notebook_shows_text_that_cannot_be_mistaken_for_tags(page):
    shown = page.run._repr_html_()
    assert 'VERDICT: committable' in shown and '<td>base_yaw.viscous_friction</td>' in shown
    assert shown.count('<tr>') == len(page.run.parameters) + 1


def test_a_data_frame_needs_pandas_and_says_so(page, monkeypatch):
    monkeypatch.setitem(sys.modules, 'pandas', None)
    with pytest.raises(si.ConfigurationError, match='pip install pandas'):
        page.run.to_dataframe()
    monkeypatch.setitem(sys.modules, 'pandas', SimpleNamespace(
        DataFrame=lambda columns, index: (columns, index)))
    columns, index = page.run.to_dataframe()
    assert index == list(page.run.parameters)
    assert {len(column) for column in columns.values()} == {len(index)}
    assert np.isnan(columns['lower'][index.index('shoulder.mass')])


def test_a_temporary_run_goes_with_its_last_reference_and_a_named_one_stays(page, tmp_path):
    robot, (t, q, _, tau) = str(page.folder / 'robot.urdf'), moved(ARM)
    recording = si.Recording.from_arrays(t, q, tau)
    run = si.fit(si.RobotModel.from_urdf(robot), recording, **QUICK)
    folder = run.folder
    assert (folder / 'recordings' / 'recording.npz').is_file()
    # Nobody may ever look at figures of it; the page has its own.
    assert not list(folder.glob('*.png')) and (folder / 'report.html').is_file()
    del run
    assert not folder.parent.exists()
    assert si.fit(robot, recording, folder=tmp_path / 'run', **QUICK).folder.is_dir()
    assert (tmp_path / 'run' / 'report.html').is_file()
    assert {file.name for file in (tmp_path / 'run').glob('*.png')} >= {
        'torque_training.png', 'torque_held_out.png'}


def test_several_recordings_are_fitted_together_and_kept(page, tmp_path):
    t, q, _, tau = moved(ARM)
    run = si.fit(
        str(page.folder / 'robot.urdf'), [si.Recording.from_arrays(t, q, tau), page.other],
        folder=tmp_path / 'run', **QUICK)
    names = {path.name for path in (run.folder / 'recordings').iterdir()}
    assert names == {'recording.npz', 'recording_2.npz'}
    assert run.estimate.between is not None
    assert judge_again('run', run.folder).startswith('Judged again')


@pytest.mark.parametrize(('change', 'words'), [
    ({'processing': {'unit_chek': 'warn'}}, "unknown key 'processing.unit_chek'.*'unit_check'"),
    ({'estimator': 'entropi'}, "no such estimator.*Did you mean 'entropic'"),
    ({'estimator': 'wls', 'fit': {'estimator': 'ols'}}, 'the estimator is said twice'),
    ({'holdout': 0.3, 'validation': si.Recording.from_bag('motion')}, 'holdout and validation'),
    ({'recording': np.zeros(3)}, 'is no recording.*from_arrays'),
    ({'recording': []}, 'found an empty list'),
    ({'robot': 'nowhere.urdf'}, 'nowhere.urdf: cannot be read'),
    ({'holdout': 30}, 'allowed a number between 0 and 1'),
])
def test_a_fit_that_cannot_begin_leaves_an_earlier_run_alone(page, tmp_path, change, words):
    earlier = page.run.save(tmp_path / 'run')
    before = {path: path.read_bytes() for path in earlier.folder.rglob('*') if path.is_file()}
    given = {'robot': str(page.folder / 'robot.urdf'), 'recording': page.recording,
             'folder': earlier.folder, 'automatic': False} | change
    with pytest.raises(si.SysidError, match=words):
        si.fit(**given)
    assert before == {
        path: path.read_bytes() for path in earlier.folder.rglob('*') if path.is_file()}


def test_a_folder_of_something_else_is_left_alone(page, tmp_path):
    (tmp_path / 'thesis.txt').write_text('years of work')
    with pytest.raises(si.ConfigurationError, match='the folder holds something else'):
        si.fit(str(page.folder / 'robot.urdf'), page.recording, folder=tmp_path, **QUICK)
    assert [path.name for path in tmp_path.iterdir()] == ['thesis.txt']


def test_columns_of_joints_that_the_robot_has_not_are_named(page):
    t, q, _, tau = moved(ARM)
    robot = str(page.folder / 'robot.urdf')
    with pytest.raises(si.RecordingError, match='no position was recorded for base_yaw'):
        si.fit(robot, si.Recording.from_arrays(t, q, tau, joints=list('abcd')), **QUICK)
    with pytest.raises(si.RecordingError, match=r'found 3 columns; allowed 4: base_yaw, shoulder'):
        si.fit(robot, si.Recording.from_arrays(t, q[:, :3], tau[:, :3]), **QUICK)
    rest = {'urdf': robot, 'locked_joints': 'rest'}
    three = si.Recording.from_arrays(t, q[:, :3], tau[:, :3], joints=ARM.joint_names[:3])
    assert si.fit(rest, three, **QUICK).robot.joint_names == ARM.joint_names[:3]


def test_a_model_with_more_than_its_description_is_refused(page):
    from sysid_ros.robot.rotors import GearedRotor

    rotor = GearedRotor(
        name='rotor', link='wrist', joint=ARM.joint_names[0], ratio=50.0, axis=(0.0, 0.0, 1.0))
    model = ARM.model.robot.with_rotors([rotor])
    with pytest.raises(si.ModelError, match="has geared rotors.*'rotors'"):
        si.fit(model, page.recording, **QUICK)

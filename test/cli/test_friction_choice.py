"""`sysid fit` chooses a friction model when asked, says why, and leaves settings that repeat it."""

import json

import pytest
import yaml

from support.two_joint_robot import write_recording
from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.main import main


@pytest.fixture(scope='module')
def settings(tmp_path_factory):
    """A recording of a robot whose dry friction is smooth, and one to predict."""
    folder = tmp_path_factory.mktemp('recordings')
    first, second = (write_recording(folder, name, seed) for seed, name in enumerate('ab', 1))
    asked = yaml.safe_load(first.read_text())
    asked['fit'] = {'friction_selection': {'candidates': ['coulomb', 'stribeck'], 'folds': 2}}
    first.write_text(yaml.safe_dump(asked, allow_unicode=True))
    return first, second


@pytest.mark.slow
def test_the_choice_is_printed_kept_and_repeated(settings, tmp_path, capsys):
    run = tmp_path / 'run'
    code = main(['fit', str(settings[0]), '--holdout', '0.3', '-o', str(run), '-v'])
    assert code == ExitCode.OK
    text = ' '.join(capsys.readouterr().out.split())
    for part in ('Friction model by errors', 'coulomb: chosen: ', 'stribeck: ',
                 "The friction model 'coulomb' was chosen"):
        assert part in text
    assert ' '.join((run / 'friction.txt').read_text().split()) in text
    table = json.loads((run / 'friction.json').read_text())
    assert table['chosen'] == 'coulomb'
    assert [each['model'] for each in table['candidates']] == ['coulomb', 'stribeck']
    # The error on faster motion is in words wherever the model is handed over.
    said = table['faster_motion']['in_words']
    assert 'times as fast' in said
    assert said in ' '.join(text.split())
    assert yaml.safe_load((run / 'identified.yaml').read_text())['provenance'][
        'faster_motion']['in_words'] == said
    kept = yaml.safe_load((run / 'settings.yaml').read_text())
    assert kept['fit']['friction_selection'] is None
    assert main(['validate', str(run), str(settings[1])]) == ExitCode.OK
    again = tmp_path / 'again'
    assert main(['fit', str(run / 'settings.yaml'), '--holdout', '0.3', '-o', str(again)]) == code
    assert not (again / 'friction.txt').exists()


@pytest.mark.slow
def test_nonlinear_terms_go_through_every_estimator_to_what_is_handed_over(
    settings, tmp_path, capsys
):
    asked = yaml.safe_load(settings[1].read_text())
    asked['robot']['terms'] = {'coulomb_smoothing': 'identified', 'load_friction': ['swing']}
    file = settings[1].with_name('nonlinear.yaml')
    file.write_text(yaml.safe_dump(asked, allow_unicode=True))
    run = tmp_path / 'run'
    code = main(['fit', str(file), '--estimator', 'all', '--holdout', '0.3', '-o', str(run),
                 '-v'])
    assert code == ExitCode.OK
    comparison = json.loads((run / 'comparison.json').read_text())
    assert comparison['failures'] == {}
    assert {each['status'] for each in comparison['estimators']} == {'CONVERGED'}
    text = ' '.join(capsys.readouterr().out.split())
    assert 'swing.load_friction' in text
    assert 'Simulation: ' in text
    names = json.loads((run / 'estimate.json').read_text())['parameters']['names']
    assert {'swing.coulomb_smoothing', 'slide.coulomb_smoothing'} <= set(names)
    assert 'coulomb_smoothing' in (run / 'identified.yaml').read_text()
    # The URDF has the closest damping and friction, from the fit and from the export alike.
    assert 'the damping and friction that come closest to them over the fitted motion' in ' '.join(
        text.split())
    closest = json.loads((run / 'estimate.json').read_text())['provenance']['closest_friction']
    assert set(closest) == {'swing', 'slide'}
    urdf = (run / 'identified.urdf').read_text()
    for pair in closest.values():
        assert f'damping="{pair["damping"]!r}" friction="{pair["friction"]!r}"' in urdf
    assert main(['export', str(run), '-o', str(tmp_path / 'again.urdf')]) == ExitCode.OK
    assert (tmp_path / 'again.urdf').read_text() == urdf
    assert 'Note: A URDF has no place for the friction laws' in capsys.readouterr().out

"""``sysid view``: the page in a browser, or a film."""

import json
import shutil

import pytest
from PIL import Image

from support.report_runs import HOSTILE, finished_run, planned_motion
from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.main import main
from sysid_ros.report import motion_film


@pytest.fixture
def opened(monkeypatch):
    addresses = []
    monkeypatch.setattr(
        'webbrowser.open', lambda address: not addresses.append(address))
    return addresses


def test_a_run_is_opened_at_the_robot(opened, capsys):
    assert main(['view', str(finished_run())]) == ExitCode.OK
    assert opened == [f'{(finished_run() / "report.html").resolve().as_uri()}#robot_view']
    assert 'Opened' in capsys.readouterr().out


def test_a_motion_is_found_by_its_own_file_and_its_page_is_made_where_it_is_gone(
    opened, tmp_path
):
    for number in ('1', '2'):
        for name in ('report', 'excitation'):
            kind = '.json' if name == 'report' else '.yaml'
            shutil.copyfile(planned_motion() / f'{name}{kind}', tmp_path / f'{name}_{number}{kind}')
    assert main(['view', str(tmp_path / 'excitation_2.yaml')]) == ExitCode.OK
    assert (tmp_path / 'report_2.html').is_file() and not (tmp_path / 'report_1.html').exists()
    assert opened[0].endswith('report_2.html#robot_view')


def test_several_motions_are_told_apart(tmp_path, capsys):
    for number in ('1', '2'):
        shutil.copyfile(planned_motion() / 'report.json', tmp_path / f'report_{number}.json')
    assert main(['view', str(tmp_path)]) == ExitCode.BAD_INPUT
    assert 'report_1.json, report_2.json' in capsys.readouterr().err


def test_what_has_no_report_is_refused_with_how_to_get_one(tmp_path, capsys):
    assert main(['view', str(tmp_path)]) == ExitCode.BAD_INPUT
    assert 'sysid report RUN --recordings' in capsys.readouterr().err
    assert main(['view', str(tmp_path / 'nowhere')]) == ExitCode.BAD_INPUT


def test_without_a_browser_the_address_is_said(monkeypatch, capsys):
    monkeypatch.setattr('webbrowser.open', lambda address: False)
    assert main(['view', str(planned_motion())]) == ExitCode.OK
    assert 'file://' in capsys.readouterr().out


@pytest.fixture
def short(tmp_path):
    """A motion of a second, of names that are code and formulas."""
    data = json.loads((planned_motion() / 'report.json').read_text())
    data['robot'] = f'$x_ {HOSTILE}'
    view = next(each for each in data['sections'] if each['section'] == 'robot_view')
    view['before_name'] = '$y^ $'
    motion, bodies = view['motion'], len(view['motion']['parent'])
    frames = sum(t <= 1.0 for t in motion['time'])
    motion['time'] = motion['time'][:frames]
    motion['origin'], motion['turn'] = (
        motion[name][:frames * width * bodies] for name, width in (('origin', 3), ('turn', 4)))
    motion['shown'] = frames // 2
    (tmp_path / 'report.json').write_text(json.dumps(data))
    return tmp_path


def test_a_film_shows_the_motion_as_fast_as_it_is(short, capsys):
    file = short / 'film.gif'
    assert main(['view', str(short), '--gif', str(file)]) == ExitCode.OK
    with Image.open(file) as film:
        assert film.n_frames == 11
        assert film.info['duration'] == 100
        first = film.convert('L')
        film.seek(10)
        last = film.convert('L')
        assert first.tobytes() != last.tobytes()


def test_an_mp4_without_ffmpeg_is_refused_with_what_to_do(short, monkeypatch, capsys):
    monkeypatch.setattr(
        motion_film.animation.FFMpegWriter, 'isAvailable', classmethod(lambda cls: False))
    assert main(['view', str(short), '--mp4', str(short / 'film.mp4')]) == ExitCode.BAD_INPUT
    said = capsys.readouterr().err
    assert 'ffmpeg' in said and '--gif film.gif' in said
    assert not (short / 'film.mp4').exists()


def test_a_name_of_another_format_is_refused(short, capsys):
    assert main(['view', str(short), '--gif', 'film.mp4']) == ExitCode.BAD_INPUT
    assert '--gif film.gif' in capsys.readouterr().err


def test_a_motion_without_numbers_is_a_film(short):
    data = json.loads((short / 'report.json').read_text())
    view = next(each for each in data['sections'] if each['section'] == 'robot_view')
    for name in ('time', 'origin', 'turn'):
        view['motion'][name] = [None] * len(view['motion'][name])
    (short / 'report.json').write_text(json.dumps(data))
    file = short / 'film.gif'
    assert main(['view', str(short), '--gif', str(file)]) == ExitCode.OK
    assert file.stat().st_size > 1000

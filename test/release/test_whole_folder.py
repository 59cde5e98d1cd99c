"""Files come to a folder together, or not at all."""

import os
import signal

import pytest

from sysid_ros.errors import ReleaseError
from sysid_ros.release.whole_folder import whole_folder


def names(folder):
    return sorted(path.name for path in folder.rglob('*'))


def write(folder, *files):
    for file in files:
        (folder / file).write_text(file)


@pytest.mark.parametrize('error', [ValueError, KeyboardInterrupt])
def test_what_is_interrupted_leaves_nothing_where_nothing_was(tmp_path, error):
    with pytest.raises(error), whole_folder(tmp_path / 'runs' / 'new') as part:
        write(part, 'a')
        raise error
    assert names(tmp_path) == []


def test_what_is_interrupted_leaves_what_was_there(tmp_path):
    write(tmp_path, 'old')
    with pytest.raises(ValueError), whole_folder(tmp_path, lambda: None) as part:
        write(part, 'old', 'new')
        (part / 'old').write_text('other')
        raise ValueError
    assert names(tmp_path) == ['old'] and (tmp_path / 'old').read_text() == 'old'


def test_files_come_in_the_end_and_take_the_place_of_others(tmp_path):
    write(tmp_path, 'kept', 'old', 'replaced')
    with whole_folder(tmp_path, (tmp_path / 'old').unlink) as part:
        write(part, 'new')
        (part / 'replaced').write_text('other')
        assert (tmp_path / 'replaced').read_text() == 'replaced'
    assert names(tmp_path) == ['kept', 'new', 'replaced']
    assert (tmp_path / 'replaced').read_text() == 'other'


def test_a_new_folder_has_the_usual_permissions(tmp_path):
    with whole_folder(tmp_path / 'new') as part:
        write(part, 'a')
    (tmp_path / 'usual').mkdir()
    assert (tmp_path / 'new').stat().st_mode == (tmp_path / 'usual').stat().st_mode


def test_ctrl_c_waits_while_files_come(tmp_path):
    write(tmp_path, 'old')

    def replace():
        os.kill(os.getpid(), signal.SIGINT)
        (tmp_path / 'old').unlink()

    with pytest.raises(KeyboardInterrupt), whole_folder(tmp_path, replace) as part:
        write(part, 'a', 'b')
    assert names(tmp_path) == ['a', 'b']


def test_a_folder_that_cannot_be_made_is_refused_with_what_to_do(tmp_path):
    write(tmp_path, 'file')
    with pytest.raises(ReleaseError, match='permissions'), whole_folder(tmp_path / 'file' / 'run'):
        pass

"""``sysid studio`` before it listens: what it refuses, and what it says to do."""

import importlib.util
import socket

import pytest

from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.main import main


@pytest.fixture
def installed(monkeypatch):
    """As if the libraries were there, which are not come to here."""
    found = importlib.util.find_spec
    monkeypatch.setattr('sysid_ros.studio.server.find_spec', lambda name: found('json'))


def test_without_the_libraries_it_says_how_to_get_them(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr('sysid_ros.studio.server.find_spec', lambda name: None)
    assert main(['studio', str(tmp_path)]) == ExitCode.BAD_INPUT
    assert "pip install 'sysid-ros[studio]'" in capsys.readouterr().err


def test_a_port_that_is_taken_is_refused_with_another(installed, capsys, tmp_path):
    with socket.socket() as taken:
        taken.bind(('127.0.0.1', 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(['studio', str(tmp_path), '--port', str(port)]) == ExitCode.BAD_INPUT
    said = capsys.readouterr().err
    assert 'cannot listen' in said and '--port 0' in said


@pytest.mark.parametrize(('arguments', 'said'), [
    (['--port', '70000'], 'there is no such port'), (['--host', 'no such host'], 'cannot listen')])
def test_an_address_that_is_none_is_refused(installed, capsys, tmp_path, arguments, said):
    assert main(['studio', str(tmp_path), *arguments]) == ExitCode.BAD_INPUT
    assert said in capsys.readouterr().err


@pytest.mark.parametrize('token', ['short', 'with spaces in between it', 'x' * 200, ''])
def test_a_token_that_can_be_guessed_or_not_be_sent_is_refused(
    installed, monkeypatch, capsys, tmp_path, token
):
    monkeypatch.setenv('SYSID_STUDIO_TOKEN', token)
    assert main(['studio', str(tmp_path)]) == ExitCode.BAD_INPUT
    said = capsys.readouterr().err
    assert 'is no token' in said and 'openssl rand' in said
    assert not token or token not in said.replace('SYSID_STUDIO_TOKEN', '')

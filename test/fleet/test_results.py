"""Tables of results, as Parquet and as CSV."""

import pytest

from sysid_ros.fleet import results
from sysid_ros.fleet.record import FitRecord, FitStatus
from sysid_ros.fleet.results import read_results, write_results

RECORDS = (
    FitRecord(
        run='a/monday-1', robot='a', source='a/monday.csv', status=FitStatus.NOT_COMMITTABLE,
        reason='an elbow, "loose"; and more', estimator='entropic', error=0.1 + 0.2,
        prior_error=1.0, held_out=True, condition=31.5, inputs_sha256='ab', seconds=2.5),
    FitRecord(run='b/line-2', robot='b', source='line 7', status=FitStatus.FAILED, reason='why'),
)


def test_csv_comes_back_as_it_was(tmp_path, monkeypatch):
    monkeypatch.setattr(results, 'has_parquet', lambda: False)
    files = write_results(RECORDS, tmp_path, tmp_path / 'runs')
    assert [file.name for file in files] == ['results.csv', 'parameters.csv']
    assert read_results(tmp_path) == RECORDS


def test_parquet_has_numbers_and_comes_back_as_it_was(tmp_path):
    parquet = pytest.importorskip(
        'pyarrow.parquet', reason='pyarrow is not installed: pip install pyarrow')
    (tmp_path / 'results.csv').write_text('of a call before', encoding='utf-8')
    files = write_results(RECORDS, tmp_path, tmp_path / 'runs')
    assert [file.name for file in files] == ['results.parquet', 'parameters.parquet']
    assert not (tmp_path / 'results.csv').exists()
    types = {field.name: str(field.type) for field in parquet.read_schema(files[0])}
    assert (types['robot'], types['error'], types['held_out']) == ('string', 'double', 'bool')
    assert read_results(tmp_path) == RECORDS


def test_runs_whose_estimate_cannot_be_read_have_no_parameters(tmp_path):
    assert not list(results.parameter_rows(RECORDS, tmp_path))

"""Local polynomials and splines against closed forms."""

import numpy as np
import pytest

from sysid_ros.errors import ConfigurationError, RecordingError
from sysid_ros.recording.processing.align import align
from sysid_ros.recording.processing.differentiation import SavitzkyGolay, Spline
from sysid_ros.recording.processing.low_pass import LowPass
from sysid_ros.recording.processing.settings import Processing
from sysid_ros.recording.recording import Channel, Recording

RATE = 200.0
METHODS = {'savitzky_golay': SavitzkyGolay(window=0.1), 'spline': Spline(spacing=0.05)}


def recording(t, q):
    return Recording((
        Channel('position', ('a',), 'rad', t, q[:, None]),
        Channel('effort', ('a',), 'N·m', t, q[:, None]),
    ), 'test', '')


@pytest.mark.parametrize('method', [
    SavitzkyGolay(window=0.1, order=2), SavitzkyGolay(window=0.1, order=5),
    Spline(spacing=0.04, degree=3), Spline(spacing=0.04, degree=5),
])
def test_polynomials_of_the_order_are_exact_to_the_very_ends(method):
    degree = method.order if isinstance(method, SavitzkyGolay) else method.degree
    t = np.arange(130) / RATE
    polynomial = np.polynomial.Polynomial(np.arange(1.0, degree + 2))
    columns = np.stack([polynomial(t), -2 * polynomial(t)], axis=1)
    for k, values in enumerate(method.motion(columns, RATE)):
        exact = polynomial.deriv(k)(t) if k else polynomial(t)
        np.testing.assert_allclose(values, np.stack([exact, -2 * exact], axis=1), rtol=1e-8)


@pytest.mark.parametrize('method', METHODS)
def test_noise_reaches_accelerations_ten_times_less_than_by_differences(method, rng):
    t = np.arange(4000) / RATE
    source = recording(t, np.sin(3 * t) + 1e-4 * rng.normal(size=len(t)))
    errors = {}
    for name in ('central', method):
        data = align(source, ('a',), Processing(differentiation=name))
        inner = slice(100, -100)
        errors[name] = np.std((data.a[:, 0] + 9 * np.sin(3 * data.t))[inner])
    assert errors[method] < errors['central'] / 10


@pytest.mark.parametrize('method', METHODS)
def test_every_segment_is_differentiated_by_itself_and_its_edges_cut_off(method):
    t = np.concatenate([np.arange(1000), np.arange(1200, 2500)]) / RATE
    data = align(
        recording(t, np.where(t < 5.5, np.sin(t), 3 + np.cos(t))), ('a',),
        Processing(differentiation=method, **{method: METHODS[method]}),
    )
    edge = Processing(differentiation=method, **{method: METHODS[method]}).edge(RATE)
    assert edge > 0
    assert data.segments == ((0, 1000 - 2 * edge), (1000 - 2 * edge, 2300 - 4 * edge))
    exact = np.where(data.t < 5.5, -np.sin(data.t), -np.cos(data.t))
    np.testing.assert_allclose(data.a[:, 0], exact, atol=1e-3)


def test_the_edge_of_a_spline_is_where_noise_is_as_large_as_inside(rng):
    spline = Spline()
    _, _, a = spline.motion(rng.normal(size=(2000, 300)), 1000.0)
    size = a.std(axis=1)
    inside = size[500:1500].max()
    assert size[0] > 20 * inside
    assert size[spline.edge(1000.0):1000].max() < 1.3 * inside


def test_windows_and_knots_that_do_not_fit_the_rate_are_refused_with_what_would():
    with pytest.raises(ConfigurationError, match='window is too short.*from 0.025 s on'):
        SavitzkyGolay(window=0.01).motion(np.zeros((100, 1)), RATE)
    with pytest.raises(ConfigurationError, match='knots are too close.*at least 0.01 s'):
        Spline(spacing=0.005).motion(np.zeros((100, 1)), RATE)
    for method in METHODS.values():
        with pytest.raises(RecordingError, match='shorter than.*found 9 samples.*at least'):
            method.motion(np.zeros((9, 1)), RATE)


def test_settings_of_a_method_that_is_not_chosen_are_refused():
    with pytest.raises(ConfigurationError, match="'spline' means nothing here"):
        Processing(spline=Spline())
    with pytest.raises(ConfigurationError, match='velocities are not differentiated'):
        Processing(differentiation='spline', velocity_filter=LowPass(cutoff=5.0))

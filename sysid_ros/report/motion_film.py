"""Films of a robot in motion, rendered off screen by Matplotlib: GIF, or MP4 where ffmpeg is.

The same frames, ellipsoids and colours as on the page of the report.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib import animation
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse
from scipy.spatial import ConvexHull

from sysid_ros.errors import ConfigurationError
from sysid_ros.numerics.rotations import rotation_matrices
from sysid_ros.report.player import Player
from sysid_ros.report.plots import COASTING, COLOURS, GRID, INK
from sysid_ros.report.scene import box_edges

# View from which the robot is seen in [rad], size in [in] and resolution.
_AZIMUTH, _ELEVATION, _SIZE, _DPI = 0.8, 0.45, (6.4, 4.8), 100
_BOX = COLOURS[3]
# Frames per second of the film; GIFs keep time in hundredths of a second.
_RATE = 10


@dataclass(frozen=True, eq=False)
class _Scene:
    """Frames of a motion as arrays.

    Attributes:
        time: In [s], shape ``(F,)``.
        parent: Body that carries each, -1 for the base.
        origin: Origins of the joint frames in [m], shape ``(F, b, 3)``.
        rotation: Orientations, shape ``(F, b, 3, 3)``.
        layers: Name, colour, and ellipsoids of each: body, centre and shape in its frame.
        hulls: Of shapes of links: colour, body, -1 for the base, corners in its frame, ``(k, 3)``.
        paths: Lines that stay, shape ``(3, k)`` each.
        boxes: Corners of boxes that stand still, shape ``(2, 3)`` each.
    """

    time: np.ndarray
    parent: list[int]
    origin: np.ndarray
    rotation: np.ndarray
    layers: list[tuple[str, str, list[tuple[int, np.ndarray, np.ndarray]]]]
    hulls: list[tuple[str, int, np.ndarray]]
    paths: list[np.ndarray]
    boxes: list[np.ndarray]

    @classmethod
    def of(cls, player: Player) -> _Scene:
        """The scene of a player's data, its solids in the frames of their bodies."""
        time = np.array(player['time'], dtype=float)
        bodies = len(player['parent'])
        origin = np.array(player['origin'], dtype=float).reshape(len(time), bodies, 3)
        turn = np.array(player['turn'], dtype=float).reshape(len(time), bodies, 4)
        rotation = rotation_matrices(turn)
        shown, layers = player['shown'], []
        for layer in player['layers']:
            solids = []
            for solid in layer['solids']:
                body = solid['body']
                back = rotation[shown, body].T
                centre = np.array(solid['centre'], dtype=float) - origin[shown, body]
                shape = np.array(solid['shape'], dtype=float).reshape(3, 3)
                solids.append((body, back @ centre, back @ shape @ back.T))
            layers.append((layer['name'], layer['colour'], solids))
        hulls = [
            (layer['colour'], hull['body'], np.array(hull['corners'], dtype=float).reshape(-1, 3))
            for layer in player['layers'] for hull in layer.get('hulls', ())]
        paths = [np.array(path, dtype=float) for path in player['paths']]
        boxes = [np.array(box['corners'], dtype=float) for box in player['boxes']]
        return cls(time, player['parent'], origin, rotation, layers, hulls, paths, boxes)

    def extent(self) -> tuple[np.ndarray, float]:
        """Middle in [m], shape ``(3,)``, and radius of all joints and what is about them."""
        points = self.origin.reshape(-1, 3)
        points = np.vstack([points[np.isfinite(points).all(axis=1)], np.zeros((1, 3))])
        low, high = points.min(axis=0), points.max(axis=0)
        joints = 0.5 * float(np.linalg.norm(high - low))
        reach = max((float(np.sqrt(max(np.max(np.diag(shape)), 0.0)))
                     for _, _, solids in self.layers for _, _, shape in solids
                     if np.isfinite(shape).all()), default=0.0)
        # What nobody could measure may be as large as a house.
        radius = joints + min(reach, 0.4 * joints) if joints > 0.0 else reach
        return 0.5 * (low + high), radius or 1.0

    def at(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        """Origins and orientations of the frame nearest to a time in [s]."""
        with np.errstate(invalid='ignore'):
            away = np.abs(self.time - time)
        frame = int(np.nanargmin(away)) if np.isfinite(away).any() else 0
        return self.origin[frame], self.rotation[frame]


def write_film(path: Path, player: Player, *, title: str) -> None:
    """Render a motion as a film, as fast as it was.

    Args:
        path: File to write, ``.gif`` or ``.mp4``.
        player: What is played.
        title: Above the robot.

    Raises:
        ConfigurationError: MP4 is asked for and ffmpeg is not there, or the file cannot be
            written.
    """
    writer = _writer(path)
    scene = _Scene.of(player)
    figure = Figure(figsize=_SIZE)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.02, 0.06, 0.96, 0.86))
    figure.suptitle(title, fontsize=10, x=0.02, y=0.98, ha='left', parse_math=False)
    try:
        with writer.saving(figure, str(path), _DPI):
            extent = scene.extent()
            for time in _times(scene):
                _draw(axes, scene, extent, time)
                writer.grab_frame()
    except OSError as error:
        raise ConfigurationError(
            f'cannot be written: {error.strerror or error}', where=str(path),
            fix='Name a folder that exists and can be written to') from error


def _writer(path: Path) -> animation.AbstractMovieWriter:
    if path.suffix.lower() == '.gif':
        return animation.PillowWriter(fps=_RATE)
    if not animation.FFMpegWriter.isAvailable():
        raise ConfigurationError(
            'an MP4 is made by ffmpeg, which was not found', where=str(path),
            fix='Install it, as by apt install ffmpeg, or write a GIF: --gif '
            f'{path.with_suffix(".gif").name}')
    return animation.FFMpegWriter(fps=_RATE)


def _times(scene: _Scene) -> Iterator[float]:
    end = float(scene.time[-1]) if len(scene.time) and np.isfinite(scene.time[-1]) else 0.0
    yield from np.arange(0.0, end + 0.5 / _RATE, 1.0 / _RATE).tolist()


def _view() -> np.ndarray:
    """Rows to the right and up in the picture, shape ``(2, 3)``."""
    ca, sa, ce, se = np.cos(_AZIMUTH), np.sin(_AZIMUTH), np.cos(_ELEVATION), np.sin(_ELEVATION)
    return np.array([[-sa, ca, 0.0], [-se * ca, -se * sa, ce]])


def _draw(axes: Axes, scene: _Scene, extent: tuple[np.ndarray, float], time: float) -> None:
    """One instant: paths, ellipsoids, and lines from joint to joint."""
    origin, rotation = scene.at(time)
    middle, radius = extent
    view = _view()
    axes.clear()
    for path in scene.paths:
        axes.plot(*(view @ (path - middle[:, None])), color=COASTING, linewidth=0.8)
    for box in scene.boxes:
        axes.plot(*(view @ (_edges(box) - middle).T), color=_BOX, linewidth=0.8)
    for colour, body, corners in scene.hulls:
        placed = corners if body < 0 else corners @ rotation[body].T + origin[body]
        _draw_hull(axes, view @ (placed - middle).T, colour)
    for name, colour, solids in scene.layers:
        axes.plot([], [], color=colour, marker='o', linestyle='', label=name)
        for body, centre, shape in solids:
            turn = rotation[body]
            place = view @ (turn @ centre + origin[body] - middle)
            _draw_ellipse(axes, place, view @ turn @ shape @ turn.T @ view.T, colour, radius)
    starts = np.array([np.zeros(3) if parent < 0 else origin[parent] for parent in scene.parent])
    lines = np.stack([starts, origin, np.full_like(origin, np.nan)], axis=1).reshape(-1, 3)
    axes.plot(*(view @ (lines - middle).T), color=INK, linewidth=2.0, marker='o', markersize=3)
    axes.set_xlim(-1.05 * radius, 1.05 * radius)
    axes.set_ylim(-1.05 * radius, 1.05 * radius)
    axes.set_aspect('equal')
    axes.set_xlabel(f'{time:.2f} s; width {2.1 * radius:.2g} m', fontsize=8)
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_color(GRID)
    legend = axes.legend(loc='upper right', fontsize=8, facecolor='white', edgecolor=GRID)
    for text in legend.get_texts():
        text.set_parse_math(False)


def _edges(corners: np.ndarray) -> np.ndarray:
    """Twelve edges of a box, each followed by a hole, shape ``(36, 3)``."""
    edges = box_edges(corners[0], corners[1])
    return np.concatenate([edges, np.full((12, 1, 3), np.nan)], axis=1).reshape(-1, 3)


def _draw_hull(axes: Axes, points: np.ndarray, colour: str) -> None:
    """The outline of a convex body whose corners are seen at points, shape ``(2, k)``."""
    if not np.isfinite(points).all() or np.linalg.matrix_rank(points - points[:, :1]) < len(points):
        return
    outline = points[:, ConvexHull(points.T).vertices]
    axes.fill(*outline, facecolor=colour, alpha=0.3, edgecolor='none')
    axes.fill(*outline, facecolor='none', edgecolor=colour, alpha=0.8, linewidth=0.8)


def _draw_ellipse(
    axes: Axes, place: np.ndarray, shape: np.ndarray, colour: str, radius: float
) -> None:
    """The outline of an ellipsoid whose shape is seen as a matrix ``(2, 2)``."""
    if not (np.isfinite(place).all() and np.isfinite(shape).all()):
        return
    values, vectors = np.linalg.eigh(0.5 * (shape + shape.T))
    width, height = 2.0 * np.sqrt(np.maximum(values, 0.0))
    angle = float(np.degrees(np.arctan2(vectors[1, 0], vectors[0, 0])))
    at = (float(place[0]), float(place[1]))
    # One that is larger than the robot would colour everything.
    alpha = 0.04 if height > 2.0 * radius else 0.22
    axes.add_patch(Ellipse(
        at, width, height, angle=angle, facecolor=colour, alpha=alpha, edgecolor='none'))
    axes.add_patch(Ellipse(
        at, width, height, angle=angle, facecolor='none', edgecolor=colour, linewidth=1.0))
    axes.plot(*at, color=colour, marker='o', markersize=3)

"""Binary STL: triangles as browsers' libraries read them."""

from __future__ import annotations

import numpy as np

_HEAD = 80
_TRIANGLE = np.dtype([('normal', '<f4', 3), ('corners', '<f4', (3, 3)), ('attribute', '<u2')])


def binary_stl(triangles: np.ndarray) -> bytes:
    """Triangles as a binary STL file.

    Args:
        triangles: Corners, counterclockwise from outside, shape ``(k, 3, 3)``.
    """
    rows = np.zeros(len(triangles), _TRIANGLE)
    rows['corners'] = triangles
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    rows['normal'] = np.divide(normals, lengths, out=np.zeros_like(normals), where=lengths > 0.0)
    return bytes(_HEAD) + np.uint32(len(rows)).astype('<u4').tobytes() + rows.tobytes()

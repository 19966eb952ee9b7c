"""Rotations, triangles and surfaces."""

import numpy as np


def rotated(points, angle):
    c, s = np.cos(angle), np.sin(angle)
    return points @ np.array([[c, -s], [s, c]]).T


def rotation_stacked(angle, axis):
    # Rodrigues 1840.
    x, y, z = axis / np.linalg.norm(axis)
    zero = np.zeros_like(x)
    k = np.stack([zero, -z, y, z, zero, -x, -y, x, zero]).reshape(3, 3)
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


def quaternion_product(p, q):
    a, b, c, d = p
    e, f, g, h = q
    return np.stack(
        [
            a * e - b * f - c * g - d * h,
            a * f + b * e + c * h - d * g,
            a * g - b * h + c * e + d * f,
            a * h + b * g - c * f + d * e,
        ]
    )


def quaternion_to_matrix(q):
    w, x, y, z = q / np.sqrt(np.sum(q**2))
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def slerp(p, q, t):
    # Shoemake 1985.
    p, q = p / np.linalg.norm(p), q / np.linalg.norm(q)
    dot = p @ q
    if dot < 0:
        q, dot = -q, -dot
    angle = np.arccos(np.clip(dot, -1, 1))
    return (np.sin((1 - t) * angle) * p + np.sin(t * angle) * q) / np.sin(angle)


def barycentric(triangle, point):
    a, b, c = triangle
    v0, v1, v2 = b - a, c - a, point - a
    d = v0[0] * v1[1] - v1[0] * v0[1]
    v = (v2[0] * v1[1] - v1[0] * v2[1]) / d
    w = (v0[0] * v2[1] - v2[0] * v0[1]) / d
    return np.stack([1 - v - w, v, w])


def polygon_area(points):
    x, y = points.T
    return 0.5 * np.abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))


def triangle_normals(vertices):
    faces = np.array([[0, 1, 2], [0, 2, 3]])
    a, b, c = vertices[faces].transpose(1, 0, 2)
    n = np.cross(b - a, c - a)
    n /= np.linalg.norm(n, axis=1)[:, None]
    at_vertices = np.zeros_like(vertices)
    np.add.at(at_vertices, faces, n[:, None])
    return at_vertices


def spherical_harmonics(direction):
    x, y, z = direction / np.linalg.norm(direction)
    c = np.sqrt(15 / (4 * np.pi))
    return np.array([c * x * y, c * y * z, c / np.sqrt(12) * (3 * z**2 - 1), c * z * x])


def spherical_coordinates(p):
    r = np.linalg.norm(p, axis=-1)
    return np.stack([r, np.arccos(p[..., 2] / r), np.arctan2(p[..., 1], p[..., 0])], axis=-1)


def haversine(a, b, radius=6.371):
    (lat1, lon1), (lat2, lon2) = np.radians(a), np.radians(b)
    h = (
        np.sin((lat2 - lat1) / 2) ** 2
        + np.cos(lat1) * np.cos(lat2) * np.sin((lon2 - lon1) / 2) ** 2
    )
    return 2 * radius * np.arcsin(np.sqrt(h))


def projected_on_a_screen(points, matrix):
    homogeneous = np.c_[points, np.ones(len(points))]
    clip = homogeneous @ matrix.T
    return clip[:, :2] / clip[:, 2:]


def aligned_points(a, b):
    # Kabsch 1976.
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    u, _, vt = np.linalg.svd(a.T @ b)
    flip = np.diag([1.0, np.sign(np.linalg.det(u @ vt))])
    return np.sqrt(np.mean(np.sum((a @ (u @ flip @ vt) - b) ** 2, axis=1)))


def ray_through_spheres(direction, centres):
    d = direction / np.linalg.norm(direction)
    b = centres @ d
    discriminant = b**2 - np.sum(centres**2, axis=1) + 1.0
    hit = discriminant > 0
    t = np.where(hit, b - np.sqrt(np.where(hit, discriminant, 1.0)), np.inf)
    nearest = np.argmin(t)
    return t[nearest] * d - centres[nearest]


def arm_positions(angles, lengths):
    heading = np.cumsum(angles)
    steps = lengths[:, None] * np.stack([np.cos(heading), np.sin(heading)], axis=1)
    return np.cumsum(steps, axis=0)


def euler_angles_in_place(angles):
    m = np.eye(3)
    for k, t in enumerate(angles):
        i, j = (k + 1) % 3, (k + 2) % 3
        rows = m[[i, j]].copy()
        m[i] = np.cos(t) * rows[0] - np.sin(t) * rows[1]
        m[j] = np.sin(t) * rows[0] + np.cos(t) * rows[1]
    return m


def inputs(rng):
    n = rng.normal
    number = np.float64
    return {
        "rotated": (n(size=(3, 2)), number(0.6)),
        "rotation_stacked": (number(0.6), n(size=3)),
        "quaternion_product": (n(size=4), n(size=4)),
        "quaternion_to_matrix": (n(size=4),),
        "slerp": (n(size=4), n(size=4), number(0.3)),
        "barycentric": (n(size=(3, 2)), n(size=2)),
        "polygon_area": (n(size=(4, 2)),),
        "triangle_normals": (n(size=(4, 3)),),
        "spherical_harmonics": (n(size=3),),
        "spherical_coordinates": (n(size=(2, 3)),),
        "haversine": (np.array([48.1, 11.6]), np.array([52.5, 13.4])),
        "projected_on_a_screen": (n(size=(3, 3)) + 3, rng.uniform(0.5, 1, (3, 4))),
        "aligned_points": (n(size=(4, 2)), n(size=(4, 2))),
        "ray_through_spheres": (
            np.array([0.1, 0.2, 1.0]),
            np.array([[0.3, 0.2, 4.0], [0.1, 0.5, 2.5], [5.0, 0, 0]]),
        ),
        "arm_positions": (n(size=3), n(size=3)),
        "euler_angles_in_place": (n(size=3),),
    }


NOT_OVERRIDABLE = {
    "rotated": "np.array",
    "quaternion_to_matrix": "np.array",
    "spherical_harmonics": "np.array",
    "euler_angles_in_place": "assigns to np.eye",
    "projected_on_a_screen": "np.c_",
    "aligned_points": "np.diag of a list",
}
LOOKS_AT_VALUES = {"slerp": "if"}

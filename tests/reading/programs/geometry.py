"""Geometry: polygons, curves, rays, distances."""

import math
from itertools import pairwise

import numpy as np

from tests.reading.programs.program import Program


def polygon(x):
    """Area and perimeter of a polygon by the shoelace formula, from a flat list."""
    pts = [(x[i], x[i + 1]) for i in range(0, len(x), 2)]
    area, perimeter = 0.0, 0.0
    for (x1, y1), (x2, y2) in pairwise([*pts, pts[0]]):
        area += x1 * y2 - x2 * y1
        perimeter += math.sqrt((x2 - x1) ** 2 + (y2 - y1) ** 2)
    return abs(area) / 2 + 0.1 * perimeter


def segment_distance(p):
    """Distance of a point to the nearest of some segments."""
    segments = [((0, 0), (2, 0)), ((2, 0), (2, 1.5)), ((0, 3), (1, 2))]
    best = float("inf")
    for a, b in segments:
        a, b = np.array(a, dtype=float), np.array(b, dtype=float)
        t = np.dot(p - a, b - a) / np.dot(b - a, b - a)
        t = max(0.0, min(1.0, t))
        d = np.linalg.norm(p - (a + t * (b - a)))
        if d < best:
            best = d
    return best


def bezier(x):
    """A point of a curve by de Casteljau's algorithm, with the parameter first."""
    t, heights = x[0], x[1:]
    points = [np.array([float(i), h]) for i, h in enumerate(heights)]
    while len(points) > 1:
        points = [(1 - t) * a + t * b for a, b in zip(points[:-1], points[1:])]  # noqa: RUF007
    return points[0][1] + 0.3 * points[0][0] ** 2


def scene(p):
    sphere = np.sqrt(p[0] ** 2 + p[1] ** 2 + (p[2] - 4) ** 2) - 1.0
    ground = p[1] + 1.5
    return min(sphere, ground)


def ray_march(x):
    """Depth of a scene along a ray, by steps as long as the distance to it."""
    d = np.array([x[0], x[1], 1.0])
    d = d / np.linalg.norm(d)
    t = 0.0
    for _ in range(300):
        h = scene(t * d)
        if h < 1e-12:
            break
        t += h
        if t > 20:
            return 20.0 + x[0]
    return t


def barycentric_shade(p):
    """A colour within a triangle; outside, by the distance from its middle."""
    a, b, c = np.array([0.0, 0.0]), np.array([2.0, 0.2]), np.array([0.5, 1.8])
    v0, v1, v2 = b - a, c - a, p - a
    den = v0[0] * v1[1] - v1[0] * v0[1]
    v = (v2[0] * v1[1] - v1[0] * v2[1]) / den
    w = (v0[0] * v2[1] - v2[0] * v0[1]) / den
    u = 1 - v - w
    if u >= 0 and v >= 0 and w >= 0:
        return 0.2 * u + 0.9 * v**2 + 0.5 * w
    return 1 / (1 + np.linalg.norm(p - (a + b + c) / 3))


def circle_overlap(x):
    """Area that two circles share."""
    d, r1, r2 = x
    if d >= r1 + r2:
        return 0.0
    if not d > abs(r1 - r2):
        return math.pi * min(r1, r2) ** 2
    a1 = math.acos((d * d + r1 * r1 - r2 * r2) / (2 * d * r1))
    a2 = math.acos((d * d + r2 * r2 - r1 * r1) / (2 * d * r2))
    return r1**2 * (a1 - math.sin(2 * a1) / 2) + r2**2 * (a2 - math.sin(2 * a2) / 2)


def clip_polygon(x):
    """Area of a triangle above a line, by Sutherland and Hodgman's clipping."""
    slope, offset = x
    corners = [np.array([0.0, 0.0]), np.array([3.0, 0.4]), np.array([1.0, 2.5])]
    side = lambda q: q[1] - slope * q[0] - offset
    kept = []
    for k in range(3):
        a, b = corners[k], corners[(k + 1) % 3]
        sa, sb = side(a), side(b)
        if sa >= 0:
            kept.append(a)
        if sa * sb < 0:
            kept.append(a + sa / (sa - sb) * (b - a))
    area = 0.0
    for k in range(len(kept)):
        area += kept[k - 1][0] * kept[k][1] - kept[k][0] * kept[k - 1][1]
    return 0.5 * area


def geodesic(x):
    """Distance of two places by haversines, by way of the pole if one is far north."""
    R = 6371.0
    lat1, lon1 = np.radians(52.5), np.radians(13.4)
    lat2, lon2 = np.radians(x[0]), np.radians(x[1])

    def haversine(p1, l1, p2, l2):
        a = np.sin((p2 - p1) / 2) ** 2 + np.cos(p1) * np.cos(p2) * np.sin((l2 - l1) / 2) ** 2
        return 2 * R * np.arcsin(np.sqrt(a))

    if x[0] > 80:
        return haversine(lat1, lon1, np.pi / 2, 0.0) + R * (np.pi / 2 - lat2)
    return haversine(lat1, lon1, lat2, lon2)


def icp_step(pose):
    """Fit of points to a map: each to its nearest, with far ones left out."""
    angle, tx, ty = pose
    c, s = math.cos(angle), math.sin(angle)
    scan = [(0.1, 0.0), (1.0, 0.1), (2.1, -0.1), (0.0, 1.1)]
    world = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    cost, used = 0.0, 0
    for px, py in scan:
        q = np.array([c * px - s * py + tx, s * px + c * py + ty])
        d2 = np.sum((world - q) ** 2, axis=1)
        nearest = np.argmin(d2)
        if d2[nearest] > 1.0:
            continue
        cost += d2[nearest]
        used += 1
    return cost / max(used, 1)


PROGRAMS = (
    Program(
        polygon,
        [0.0, 0.1, 2.0, 0.2, 1.5, 1.7, 0.2, 1.1],
        ([0, 0, 0, 1, 1, 1.0, 1, 0], [1, 1, 3, 2, 2, 4, 0, 3], [2, 0, 0, 2, -2, 0, 0, -2]),
    ),
    Program(segment_distance, [1.2, 0.7], ([2.9, 0.4], [-0.5, -0.8], [0.2, 2.4])),
    Program(
        bezier,
        [0.3, 1.0, 2.0, -1.0, 0.5],
        ([0.9, 0, 1, 0, 1], [0.5, 2, 2, 1, -3], [0.0, 1, 0.2, 0.4, 1]),
    ),
    Program(ray_march, [0.05, 0.1], ([0.3, -0.6], [0.1, 0.9], [0.12, -0.05])),
    Program(barycentric_shade, [0.8, 0.6], ([1.9, 1.5], [-0.3, 0.4], [0.6, 1.1])),
    Program(circle_overlap, [1.2, 1.0, 0.7], ([3.0, 1.0, 0.7], [0.1, 1.0, 0.7], [0.9, 1.0, 1.5])),
    Program(clip_polygon, [0.2, 0.5], ([0.2, 3.0], [-0.5, 1.0], [0.4, -2.0])),
    Program(geodesic, [48.9, 2.3], ([85.0, 30.0], [-33.9, 151.2], [40.7, -74.0])),
    Program(icp_step, [0.05, 0.1, -0.1], ([0.3, 0.5, 0.2], [-0.2, 2.6, 0.1], [0.0, -0.3, 0.4])),
)

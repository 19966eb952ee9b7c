"""Rotations: SciPy's values, derivatives against differences, transformations, errors."""

import itertools
import warnings

import numpy as np
import pytest
import scipy.spatial.transform as theirs

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.scipy.spatial import transform as ours
from fungrad.test_util import assert_allclose, check_grads

RNG = np.random.default_rng(0)
QUATS = RNG.normal(size=(6, 4))
VECTORS = np.concatenate(
    [RNG.normal(size=(4, 3)), [[0, 0, 0], [1e-9, 0, 2e-9], [0.02, 0.01, 0], [3.1, 0, 0]]]
)
ANGLES = RNG.uniform(-1.4, 1.4, (5, 3))
ORDERS = [
    *("".join(p) for p in itertools.permutations("xyz")),
    *(a + b + a for a, b in itertools.permutations("xyz", 2)),
]
ORDERS += [seq.upper() for seq in ORDERS]
AS = ["as_matrix", "as_rotvec", "as_mrp", "as_quat", "magnitude"]


def close(found, expected, limit=1e-13):
    np.testing.assert_allclose(found, expected, limit, limit)


def same(found, expected):
    """Whether rotations are SciPy's: as matrices, for of each there are two quaternions."""
    close(found.as_matrix(), expected.as_matrix())
    assert found.single == expected.single


@pytest.mark.parametrize("x", [QUATS, QUATS[0], np.array([1e-9, 0, 0, 1.0])])
def test_representations(x):
    r, s = ours.Rotation.from_quat(x), theirs.Rotation.from_quat(x)
    for name in AS:
        close(getattr(r, name)(), getattr(s, name)())
    close(r.as_rotvec(degrees=True), s.as_rotvec(degrees=True))
    close(r.as_quat(canonical=True), s.as_quat(canonical=True))
    close(r.as_quat(scalar_first=True), s.as_quat(scalar_first=True))
    same(ours.Rotation.from_quat(r.as_quat(scalar_first=True), scalar_first=True), s)
    same(ours.Rotation.from_matrix(s.as_matrix()), s)
    same(ours.Rotation.from_rotvec(s.as_rotvec()), s)
    same(ours.Rotation.from_mrp(s.as_mrp()), s)
    same(r.inv(), s.inv())
    same(r**2.5, s**2.5)


def test_rotation_vectors_near_nothing():
    same(ours.Rotation.from_rotvec(VECTORS), theirs.Rotation.from_rotvec(VECTORS))
    close(ours.Rotation.from_rotvec(VECTORS).as_rotvec(), VECTORS)
    degrees = ours.Rotation.from_rotvec(np.degrees(VECTORS), degrees=True)
    close(degrees.as_rotvec(), VECTORS)


@pytest.mark.parametrize("seq", ORDERS)
def test_euler_angles(seq):
    shift = np.array([0.0, 1.5 if seq[0] == seq[2] else 0.0, 0.0])
    r = ours.Rotation.from_euler(seq, ANGLES + shift)
    same(r, theirs.Rotation.from_euler(seq, ANGLES + shift))
    close(r.as_euler(seq), ANGLES + shift, 1e-12)
    close(r.as_euler(seq, degrees=True), np.degrees(ANGLES + shift), 1e-11)
    fg.test_util.check_grads(lambda x: r._of(x).as_euler(seq), (r.as_quat(),), 2)
    for second in (0.0, np.pi) if seq[0] == seq[2] else (np.pi / 2, -np.pi / 2):
        s = theirs.Rotation.from_euler(seq, [0.3, second, 0.5])
        with warnings.catch_warnings(), pytest.warns(UserWarning, match="Gimbal lock"):
            close(ours.Rotation.from_quat(s.as_quat()).as_euler(seq), s.as_euler(seq), 1e-7)


def test_axes_of_one_and_two():
    assert ours.Rotation.from_euler("z", [0.3]).single
    for seq, angles in [("z", 0.3), ("X", [[0.3], [0.4]]), ("xy", [0.1, 0.2])]:
        r, s = (lib.Rotation.from_euler(seq, angles, degrees=True) for lib in (ours, theirs))
        same(r, s)


def test_arrays_of_rotations():
    r, s = ours.Rotation.from_quat(QUATS), theirs.Rotation.from_quat(QUATS)
    same(r * r[0], s * s[0])
    same(r[::-1] * r, s[::-1] * s)
    close(r.apply(VECTORS[:6]), s.apply(VECTORS[:6]))
    close(r.apply([1, 2, 3], inverse=True), s.apply([1, 2, 3], inverse=True))
    close(r[2].apply(VECTORS), s[2].apply(VECTORS))
    same(r.mean(), s.mean())
    same(r.mean(weights=range(6)), s.mean(weights=range(6)))
    same(ours.Rotation.concatenate([r, r[0]]), theirs.Rotation.concatenate([s, s[0]]))
    same(ours.Rotation.identity(), theirs.Rotation.identity())
    same(ours.Rotation.identity(2), theirs.Rotation.identity(2))
    assert [*r.approx_equal(r[1])] == [*s.approx_equal(s[1])] == [i == 1 for i in range(6)]
    assert (len(r), r.shape, len([*r]), bool(r[0])) == (6, (6,), 6, True)
    assert repr(r) == "Rotation(quat=float64[6,4])"


@pytest.mark.parametrize("name", ["as_matrix", "as_rotvec", "as_mrp", "as_quat"])
def test_derivatives(name):
    check = fg.test_util.check_grads
    as_ = lambda r: getattr(r, name)()
    check(lambda x: as_(ours.Rotation.from_quat(x)), (QUATS,), 2)
    check(lambda v: as_(ours.Rotation.from_rotvec(v)), (VECTORS[:-1],), 2, atol=1e-3, rtol=1e-3)
    check(lambda v: as_(ours.Rotation.from_mrp(v)), (VECTORS[:4],), 2, atol=1e-3, rtol=1e-3)
    check(lambda v: as_(ours.Rotation.from_euler("zxy", v)), (ANGLES,), 2)
    check(lambda x, y: as_(ours.Rotation.from_quat(x) * ours.Rotation.from_quat(y)), (QUATS, QUATS[::-1] + 1), 2)  # fmt: skip
    matrices = ours.Rotation.from_quat(QUATS).as_matrix()
    check(
        lambda m: as_(ours.Rotation.from_matrix(m, assume_valid=True)),
        (matrices,),
        2,
        atol=1e-3,
        rtol=1e-3,
    )


def test_a_rotation_by_nothing_is_smooth():
    """All derivatives up to the fifth are those of the exponential of a matrix, and back."""
    cross = lambda v: fnp.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
    along, angle = np.array([0.3, -0.4, 0.5]), np.sqrt(0.5)
    turned = ours.Rotation.from_rotvec(angle * along / angle).as_matrix()
    np.testing.assert_allclose(turned, fg.scipy.linalg.expm(cross(along)), 1e-13)

    def coefficients(f):
        return fg.jet(f, (0.0,), ([1.0, 0.0, 0.0, 0.0, 0.0],))[1]

    exact = coefficients(lambda t: fg.scipy.linalg.expm(t * cross(along)))
    found = coefficients(lambda t: ours.Rotation.from_rotvec(t * along).as_matrix())
    for x, y in zip(found, exact, strict=True):
        np.testing.assert_allclose(x, y, atol=1e-12)
    back = coefficients(lambda t: ours.Rotation.from_rotvec(t * along).as_rotvec())
    for i, x in enumerate(back):
        np.testing.assert_allclose(x, along if i == 0 else 0 * along, atol=1e-12)


def test_slerp():
    times = np.array([0.0, 1.0, 1.5, 4.0, 5.0, 7.0])
    r, s = ours.Rotation.from_quat(QUATS), theirs.Rotation.from_quat(QUATS)
    at = np.array([0.0, 0.3, 1.0, 1.2, 3.9, 6.0, 7.0])
    same(ours.Slerp(times, r)(at), theirs.Slerp(times, s)(at))
    same(ours.Slerp(times, r)(0.3), theirs.Slerp(times, s)(0.3))
    f = lambda q, times, at: ours.Slerp(times, ours.Rotation.from_quat(q))(at).as_matrix()
    fg.test_util.check_grads(f, (QUATS, times, at[1:-1] + 0.01), 2, atol=1e-3, rtol=1e-3)
    close(fg.jit(f)(QUATS, times, at), f(QUATS, times, at))
    beyond = fg.jit(lambda t: ours.Slerp(times, r)(t).as_quat())(8.0)
    assert np.isnan(beyond).all()
    assert np.isfinite(ours.Slerp(times, r, extrapolate=True)(8.0).as_quat()).all()
    slerp = fg.jit(lambda s: s)(ours.Slerp(times, r))
    close(slerp(at).as_matrix(), theirs.Slerp(times, s)(at).as_matrix())
    assert repr(slerp) == "Slerp(times=float64[6], rotvecs=float64[5,3])"


def test_as_arguments_of_transformed_functions():
    r = ours.Rotation.from_quat(QUATS)
    inverse = fg.jit(lambda r: r.inv())(r)
    assert type(inverse) is ours.Rotation
    close(inverse.as_matrix(), r.inv().as_matrix())
    close(fg.vmap(lambda r, v: r.apply(v))(r, VECTORS[:6]), r.apply(VECTORS[:6]))
    angles = fg.vmap(lambda r: r.as_euler("xyz"))(r)
    close(angles, r.as_euler("xyz"))
    slope = fg.grad(lambda r: fnp.sum(r.as_rotvec()))(r)
    assert (type(slope), slope.quat.shape) == (ours.Rotation, (6, 4))
    single = ours.Rotation.from_quat(QUATS.astype(np.float32))
    for x in (single.as_matrix(), single.as_rotvec(), single.as_euler("xyz"), single.magnitude()):
        assert x.dtype == np.float32


def test_errors():
    r = ours.Rotation.from_quat(QUATS)
    for what, message in [
        (lambda: ours.Rotation.from_quat(VECTORS), r"the last axis has 4 elements; got .* \(8, 3\)"),
        (lambda: ours.Rotation.from_quat(np.zeros((2, 4))), "a quaternion is zero"),
        (lambda: ours.Rotation.from_matrix(np.ones((3, 3))), "no rotation.*or pass assume_valid=True"),
        (lambda: ours.Rotation.from_matrix(-np.eye(3)), "determinant is negative"),
        (lambda: ours.Rotation.from_matrix(np.ones((2, 2))), r"of shape \(..., 3, 3\), got \(2, 2\)"),
        (lambda: ours.Rotation.from_euler("xxy", ANGLES), "seq names 1 to 3 axes.*got 'xxy'"),
        (lambda: ours.Rotation.from_euler("xYz", ANGLES), "got 'xYz'"),
        (lambda: ours.Rotation.from_euler("xy", ANGLES), r"the last axis has 2 angles.*\(5, 3\)"),
        (lambda: r.as_euler("xy"), "seq names 3 axes.*got 'xy'"),
        (lambda: r.mean(weights=[1, 2]), r"there are 6 rotations, and weights of shape \(2,\)"),
        (lambda: r.mean(weights=[-1] * 6), "weights are not negative"),
        (lambda: r.apply(np.ones(2)), "the last axis has 3 elements"),
        (lambda: ours.Slerp([0, 1], r), "6 rotations have a time each"),
        (lambda: ours.Slerp([0], r[:1]), "at least two rotations"),
        (lambda: ours.Slerp([0, 1, 2, 2, 3, 4], r), "times increase"),
        (lambda: ours.Slerp(range(6), r)(5.5), "not before the first or after the last"),
        (lambda: ours.Slerp(range(6), r)(np.zeros((2, 2))), r"one axis at most, got shape \(2, 2\)"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=message):
            what()
    for what in (lambda: r[0][0], lambda: len(r[0]), lambda: ours.Slerp([0, 1], 3)):
        with pytest.raises(TypeError, match=r"Single rotation|Slerp: rotations are a Rotation"):
            what()


def test_alignment_of_vectors():
    draws = np.random.default_rng(0)
    b = draws.normal(size=(7, 3))
    a = theirs.Rotation.from_rotvec([0.3, -2.0, 1.0]).apply(b) + 0.05 * draws.normal(size=(7, 3))
    near = np.eye(3) + 0.01 * draws.normal(size=(3, 3))
    mirrored = np.diag([2.0, 1.0, -0.5]) + 0.01 * draws.normal(size=(3, 3))
    for x, y, weights, options in (
        (a, b, draws.random(7), (True,)),
        (a, b, None, (True,)),
        (near, np.eye(3), None, (True,)),
        (mirrored, np.eye(3), None, (True,)),
        (a[0], b[0], None, ()),
    ):
        expected, *others = theirs.Rotation.align_vectors(x, y, weights, *options)

        def run(x, y=y, weights=weights, options=options):
            rotation, *rest = ours.Rotation.align_vectors(x, y, weights, *options)
            return rotation.as_matrix(), *rest

        for found in (run(x), fg.jit(run)(x)):
            assert_allclose(found[0], expected.as_matrix(), atol=1e-12)
            for left, right in zip(found[1:], others, strict=True):
                assert_allclose(left, right, rtol=1e-7, atol=1e-10)
        check_grads(lambda x, run=run: run(x)[:2], (x,), order=1, eps=2e-5)
    # The rotation is unique and smooth though three eigenvalues are equal.
    slope = fg.jacobian(lambda a: ours.Rotation.align_vectors(a, np.eye(3))[0].as_rotvec())(
        np.eye(3)
    )
    expected = np.array([[0, 0, 0], [0, 0, 0.5], [0, -0.5, 0]])
    assert_allclose(slope[0], expected, atol=1e-12)
    for weights, message in ((np.array([np.inf, 1, 1]), "finite"), (np.ones(2), "3 vectors")):
        with pytest.raises(ValueError, match=message):
            fg.grad(lambda a, w=weights: ours.Rotation.align_vectors(a, near, w)[1])(near)
    with pytest.raises(ValueError, match="one shape"):
        fg.grad(lambda a: ours.Rotation.align_vectors(a, near[:2])[1])(near)


def test_means_along_axes_and_identities_of_a_shape():
    quat = np.random.default_rng(2).normal(size=(3, 4, 4))
    r, s = ours.Rotation.from_quat(quat), theirs.Rotation.from_quat(quat)
    weights = np.arange(1.0, 5)
    for options in (
        {},
        {"axis": 0},
        {"axis": -1},
        {"axis": (0, 1)},
        {"weights": weights, "axis": 1},
    ):
        assert_allclose(r.mean(**options).as_matrix(), s.mean(**options).as_matrix(), atol=1e-12)
    assert ours.Rotation.identity(shape=(2, 3)).shape == (2, 3)
    with pytest.raises(ValueError, match="num or shape"):
        ours.Rotation.identity(2, shape=3)

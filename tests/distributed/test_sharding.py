"""`shard_map` in one process, which has all places of a mesh: what it means, and what it says of mistakes."""

import pickle

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.sharding import Mesh, PartitionSpec, make_mesh, shard_map, to_global, to_local
from tests.distributed.cases import COLLECTIVES, computed, names, transforms
from tests.distributed.training import START, WAYS, alone
from tests.distributed.training import loss as whole_loss

P = PartitionSpec
X = np.random.default_rng(1).normal(size=(8, 6))
W = np.random.default_rng(2).normal(size=(6, 4))
GRID = make_mesh((4, 2), ("i", "j"))


def layer(x, w):
    return fnp.tanh(x @ w)


@pytest.mark.parametrize("spec", [P("i"), P("i", "j"), P(("i", "j")), P(None, "j"), P(("j", "i"))])
def test_parts_are_joined_as_they_were_divided(spec):
    double = shard_map(lambda x: 2 * x, mesh=GRID, in_specs=spec, out_specs=spec)
    np.testing.assert_array_equal(double(X), 2 * X)


def test_each_place_has_its_part():
    place = lambda x: x * 0 + lax.axis_index("i") * 10 + lax.axis_index("j")
    found = shard_map(place, mesh=GRID, in_specs=P("i", "j"), out_specs=P("i", "j"))(X)
    expected = np.repeat(np.arange(4) * 10, 2)[:, None] + np.repeat(np.arange(2), 3)
    np.testing.assert_array_equal(found, expected)


def test_product_of_matrices_divided_along_what_is_summed():
    product = shard_map(
        lambda x, w: lax.psum(x @ w, "j"),
        mesh=GRID,
        in_specs=(P("i", "j"), P("j", None)),
        out_specs=P("i"),
    )
    np.testing.assert_allclose(product(X, W), X @ W, rtol=1e-13)
    loss = lambda f: lambda x, w: fnp.sum(fnp.sin(f(x, w)))
    for argnums in (0, 1):
        found = fg.grad(loss(product), argnums)(X, W)
        np.testing.assert_allclose(found, fg.grad(loss(fnp.matmul), argnums)(X, W), rtol=1e-12)


@pytest.mark.parametrize("closed_over", [False, True])
@pytest.mark.parametrize("transform", [lambda f: f, fg.jit])
def test_gradients_of_what_all_places_share(closed_over, transform):
    def loss(w):
        if closed_over:
            f = lambda x: lax.pmean(fnp.mean(layer(x, w) ** 2), ("i", "j"))
            return shard_map(f, mesh=GRID, in_specs=P(("i", "j")), out_specs=P())(X)
        f = lambda x, w: lax.pmean(fnp.mean(layer(x, w) ** 2), ("i", "j"))
        return shard_map(f, mesh=GRID, in_specs=(P(("i", "j")), P()), out_specs=P())(X, w)

    plain = lambda w: fnp.mean(layer(X, w) ** 2)
    np.testing.assert_allclose(transform(fg.grad(loss))(W), fg.grad(plain)(W), rtol=1e-12)
    np.testing.assert_allclose(
        transform(fg.hessian(loss))(W), fg.hessian(plain)(W), rtol=1e-11, atol=1e-14
    )


def test_result_without_a_sum_counts_once():
    """What all places compute alike is one result, with one cotangent."""
    same = shard_map(lambda w: fnp.sum(w**2), mesh=GRID, in_specs=P(), out_specs=P())
    np.testing.assert_array_equal(fg.grad(same)(W), 2 * W)


def test_gradient_within_is_of_the_sum_over_places():
    inner = lambda x: fg.grad(lambda y: fnp.sum(lax.psum(y, "i") ** 2))(x)
    found = shard_map(inner, mesh=make_mesh((4,), ("i",)), in_specs=P("i"), out_specs=P("i"))(X)
    total = X.reshape(4, 2, 6).sum(0)
    np.testing.assert_allclose(found, np.tile(4 * 2 * total, (4, 1)), rtol=1e-13)


@pytest.mark.parametrize(("mesh", "name"), [n for n in names() if n[0] in ("flat", "both")])
def test_transforms_agree(mesh, name):
    found = computed(mesh, name)
    np.testing.assert_allclose(found["jit"], found["value"], rtol=1e-14)
    np.testing.assert_allclose(found["vmap"][0], found["value"], rtol=1e-13)
    if "grad" in found:
        np.testing.assert_allclose(found["jit_grad"], found["grad"], rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(found["vmap_grad"][0], found["grad"], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(("mesh", "name"), names())
def test_places_of_one_process_are_calls_of_vmap(mesh, name):
    found, expected = computed(mesh, name), computed(mesh, name, vmap=True)
    for transform, x in expected.items():
        np.testing.assert_allclose(found[transform], x, rtol=1e-13, atol=1e-13)
        if transform != "hvp":  # which adds cotangents in another order
            np.testing.assert_array_equal(found[transform], x)


@pytest.mark.parametrize("name", ["psum", "all_to_all", "ppermute", "scan", "grad_within"])
def test_derivatives_are_those_of_differences(name):
    f = COLLECTIVES[name]
    mesh = make_mesh((4,), ("i",))
    g = shard_map(lambda x: f(x, "i"), mesh=mesh, in_specs=P("i"), out_specs=P("i"))
    fg.test_util.check_grads(g, (0.3 * X,), order=2, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("way", WAYS)
def test_training(way):
    found, expected = WAYS[way](), alone()
    fg.test_util.assert_allclose(found, expected, rtol=1e-12)
    assert np.abs(found["out"] - START["out"]).max() > 0.05


def test_pytrees_empty_arrays_and_dtypes():
    def f(batch, scale):
        n = lax.psum(batch["x"].shape[0], "i")
        return {"y": batch["x"] * scale, "n": fnp.asarray(n), "i": lax.psum(batch["k"].sum(), "i")}

    mesh = make_mesh((2,), ("i",))
    g = shard_map(f, mesh=mesh, in_specs=(P("i"), P()), out_specs={"y": P("i"), "n": P(), "i": P()})
    for dtype in (np.float32, np.complex128):
        for rows in (0, 4):
            batch = {"x": np.ones((rows, 3), dtype), "k": np.arange(rows, dtype=np.int32)}
            found = g(batch, np.float32(2))
            assert found["y"].dtype == np.result_type(dtype, np.float32)
            assert found["y"].shape == (rows, 3)
            assert found["n"] == rows
            assert found["i"] == batch["k"].sum()


def test_pickles():
    again = pickle.loads(
        pickle.dumps(shard_map(np.sin, mesh=GRID, in_specs=P("i"), out_specs=P("i")))
    )
    np.testing.assert_array_equal(again(X), np.sin(X))
    assert pickle.loads(pickle.dumps(GRID)) == GRID
    assert pickle.loads(pickle.dumps(P("i", None))) == P("i", None)


def test_decorator_and_names_at_top_level():
    @fg.shard_map(mesh=fg.make_mesh((4,), ("i",)), in_specs=P("i"), out_specs=P("i"))
    def centred(x):
        return x - lax.pmean(x, "i")

    assert centred.__name__ == "centred"
    assert fg.process_count() == 1
    assert fg.process_index() == 0
    np.testing.assert_allclose(centred(np.arange(4.0)), [-1.5, -0.5, 0.5, 1.5])


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: Mesh(np.arange(4), ("i", "j")), ValueError, "a name of its own"),
        (lambda: Mesh(np.empty((2, 0)), ("i", "j")), ValueError, "a place at least"),
        (lambda: P("i", "i"), ValueError, "can divide one axis"),
        (
            lambda: shard_map(np.sin, mesh=GRID, in_specs=P("k"), out_specs=P()),
            ValueError,
            "'k', which is no axis",
        ),
        (
            lambda: shard_map(np.sin, mesh=GRID, in_specs="i", out_specs=P()),
            TypeError,
            "must be a PartitionSpec",
        ),
        (lambda: make_mesh((2,), ("i",), devices=[0, 1]), ValueError, "devices must be None"),
        (lambda: shard_map(np.sin, mesh=GRID, out_specs=P()), TypeError, "in_specs must be given"),
        (
            lambda: shard_map(np.sin, mesh="i", in_specs=P(), out_specs=P()),
            TypeError,
            "mesh must be",
        ),
        (
            lambda: shard_map(np.sin, mesh=GRID, in_specs=P("i"), out_specs=P("i"))(X[:6]),
            ValueError,
            r"axis 0 of argument 0, of type float64\[6,6\], cannot be divided into 4",
        ),
        (
            lambda: shard_map(np.sum, mesh=GRID, in_specs=P("i"), out_specs=P("i"))(X),
            ValueError,
            r"the result is of type float64\[\]",
        ),
        (
            lambda: shard_map(np.sum, mesh=GRID, in_specs=P("i"), out_specs=P())(X),
            ValueError,
            "a result differs along the axis 'i'",
        ),
        (
            lambda: shard_map(np.sin, mesh=GRID, in_specs=(P("i"), P()), out_specs=P("i"))(X),
            ValueError,
            "in_specs has 2 entries, but the call has 1",
        ),
        (
            lambda: shard_map(
                lambda x: lax.psum(x, "k"), mesh=GRID, in_specs=P("i"), out_specs=P("i")
            )(X),
            NameError,
            "unbound axis name: 'k'",
        ),
    ],
)
def test_mistakes(make, error, words):
    with pytest.raises(error, match=words):
        make()


@pytest.mark.parametrize(
    ("spec", "local", "words"),
    [
        (P("i"), False, r"axis 0 of argument 1\['rows'\], of type float64\[6,5\], .* into 4 .* pad it to 8"),
        (P(None, "j"), False, r"axis 1 of argument 1\['rows'\], .* into 2 .* along \('j',\) .* pad it to 6"),
        (P(("i", "j")), True, r"axis 0 of argument 1\['rows'\], .* into 8 .* pad it to 8"),
    ],
)  # fmt: skip
def test_uneven_parts(spec, local, words):
    f = lambda x, batch: batch["rows"]
    specs = (P(), {"rows": spec, "other": P("i")})
    mapped = shard_map(f, mesh=GRID, in_specs=specs, out_specs=spec, local_arrays=local)
    for call in (mapped, fg.jit(mapped)):
        with pytest.raises(ValueError, match=words):
            call(X, {"rows": np.ones((6, 5)), "other": np.ones(4)})


def test_shares_of_an_axis():
    assert GRID.share("i") == GRID.share(("i", "j")) == (0, 1)
    with pytest.raises(ValueError, match="'k' is no axis of Mesh"):
        GRID.share("k")


def test_what_a_process_has_of_whole_arrays():
    tree, specs = {"x": X, "n": 3}, {"x": P(("j", "i")), "n": P()}
    for move in (to_local, to_global):
        found = move(tree, GRID, specs)
        np.testing.assert_array_equal(found["x"], X)
        assert found["n"] == 3
        assert found["x"] is not X
        with pytest.raises(ValueError, match=r"axis 0 of \['x'\], of type float64\[6,2\]"):
            move({"x": np.ones((6, 2)), "n": 3}, GRID, specs)
        with pytest.raises(TypeError, match=r"\['n'\] is divided by .*, and is no array but 'int'"):
            move(tree, GRID, P("i"))
        with pytest.raises(TypeError, match="must be a PartitionSpec"):
            move(tree, GRID, "i")


@pytest.mark.parametrize("name", [n for n in COLLECTIVES if not n.startswith("pbroadcast")])
def test_an_axis_with_one_place(name):
    """It is that of a `vmap` of one call."""
    f = COLLECTIVES[name]
    options = {"mesh": make_mesh((1,), ("i",)), "in_specs": P("i"), "out_specs": P("i")}
    one = shard_map(lambda x: f(x, "i"), **options)
    call = lambda x: fg.vmap(lambda y: f(y, "i"), axis_name="i")(x[None])[0]
    for (transform, found), (_, expected) in zip(
        transforms(name, one), transforms(name, call), strict=True
    ):
        x = X[:, :3]
        np.testing.assert_allclose(found(x), expected(x), 1e-12, 1e-13, err_msg=transform)


def test_a_mesh_of_one_place_adds_nothing_to_a_program():
    def block(x, w, total=lambda x: x):
        return fnp.mean(fnp.tanh(total(fnp.tanh(x @ w) @ w.T)) ** 2)

    specs = {"in_specs": (P("rows"), P(None, "columns")), "out_specs": P()}
    mesh = make_mesh((1, 1), ("rows", "columns"))
    summed = lambda x, w: lax.pmean(block(x, w, lambda y: lax.psum(y, "columns")), "rows")
    step = fg.grad(shard_map(summed, mesh=mesh, **specs), (0, 1))
    found = fg.jit(step).lower(X, W).simplified
    expected = fg.jit(fg.grad(block, (0, 1))).lower(X, W).simplified
    assert len(found.equations) <= len(expected.equations)


def test_no_mesh_within_another():
    inner = shard_map(np.sin, mesh=make_mesh((2,), ("k",)), in_specs=P("k"), out_specs=P("k"))
    outer = shard_map(inner, mesh=GRID, in_specs=P("i"), out_specs=P("i"))
    with pytest.raises(NotImplementedError, match="one mesh all the axes"):
        outer(X)


def test_first_place_is_taken_without_the_check():
    first = shard_map(lambda x: x[0], mesh=GRID, in_specs=P("i"), out_specs=P(), check_vma=False)
    np.testing.assert_array_equal(first(X), X[0])
    expected = np.zeros_like(X)
    expected[0] = 2 * X[0]
    np.testing.assert_array_equal(fg.grad(lambda x: fnp.sum(first(x) ** 2))(X), expected)


def test_a_thousand_places():
    """One process stands for 1,024: sums, neighbours and shares are what they mean."""
    mesh = make_mesh((64, 16), ("data", "model"))
    x = np.random.default_rng(7).normal(size=(128, 32))

    def f(x):
        around = lax.ppermute(x, "data", [(i, (i + 1) % 64) for i in range(64)])
        share = lax.psum_scatter(fnp.broadcast_to(x[:, :1], (2, 16)), "model", scatter_dimension=1)
        return around * lax.pmean(x, ("data", "model")), fnp.sum(share) * lax.axis_index("model")

    mapped = shard_map(
        lambda x: [fnp.reshape(y, (-1, 1)) if fnp.ndim(y) == 0 else y for y in f(x)],
        mesh=mesh,
        in_specs=P("data", "model"),
        out_specs=P("data", "model"),
    )
    found, shares = mapped(x)
    parts = x.reshape(64, 2, 16, 2)
    expected = np.roll(parts, 1, 0) * parts.mean((0, 2))[None, :, None]
    np.testing.assert_allclose(found, expected.reshape(128, 32), rtol=1e-12)
    sums = parts[:, :, :, 0].sum((1, 2))
    np.testing.assert_allclose(shares, sums[:, None] * np.arange(16), rtol=1e-12, atol=1e-12)
    gradient = fg.grad(lambda x: fnp.sum(mapped(x)[0] ** 2))(x)
    direct = lambda x: fnp.sum(
        (
            fnp.roll(x.reshape(64, 2, 16, 2), 1, 0)
            * x.reshape(64, 2, 16, 2).mean((0, 2))[None, :, None]
        )
        ** 2
    )
    np.testing.assert_allclose(gradient, fg.grad(direct)(x), rtol=1e-10, atol=1e-13)


def test_training_on_a_thousand_places():
    """Rows on 64 places, hidden units on 16: steps are those of the undivided network."""
    draws = np.random.default_rng(8)
    x, y = draws.normal(size=(128, 6)), draws.normal(size=(128, 2))
    start = {"hidden": draws.normal(size=(6, 32)), "out": draws.normal(size=(32, 2))}

    def part(params, x, y):
        out = lax.psum(fnp.tanh(x @ params["hidden"]) @ params["out"], "model")
        return lax.pmean(fnp.mean((out - y) ** 2), "data")

    divided = shard_map(
        part,
        mesh=make_mesh((64, 16), ("data", "model")),
        in_specs=({"hidden": P(None, "model"), "out": P("model")}, P("data"), P("data")),
        out_specs=P(),
    )

    def trained(loss):
        step = fg.jit(lambda p: fg.tree.map(lambda w, g: w - 0.05 * g, p, fg.grad(loss)(p, x, y)))
        params = start
        for _ in range(5):
            params = step(params)
        return params

    fg.test_util.assert_allclose(trained(divided), trained(whole_loss), rtol=1e-12)

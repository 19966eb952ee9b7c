"""Indices out of bounds by the setting `out_of_bounds`, beside JAX's."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")

import fungrad as fg  # noqa: E402
import fungrad.numpy as fnp  # noqa: E402
from fungrad.settings import out_of_bounds  # noqa: E402

ARRAYS = {
    "x": np.arange(1.0, 4.0, dtype=np.float32),
    "m": np.arange(1.0, 7.0, dtype=np.float32).reshape(2, 3),
    "n": np.arange(1, 4, dtype=np.int32),
    "i": np.array([0, 2, 3, -3, -4], np.int32),
    "b": np.array([True, False, True]),
    "u": np.arange(1, 4, dtype=np.uint8),
}
READ = """x[10]|x[-7]|x[i]|n[i]|x[i[2]]|x[i[4]]|m[i[2],i[1]]|m[5]|m[1,5]|m[:,i]|m[i]|m[5,:2]|x[5:9]|x[None,i]|m[...,i]|m[i,i]|m[5,i]|m[i[:,None],i]
x.at[10].get()|x.at[i].get()|x.at[i].get(mode='fill')|x.at[i].get(mode='clip')|m.at[0,i[2]].get()|np.take(x,i)|np.take(n,i)|np.take(u,i)|np.take(b,i)|np.take(x,5)
np.take(m,i,axis=1)|np.take(m,i[:,None],axis=0)|np.take(x,i,mode='clip')|np.take(x,i,mode='wrap')|np.take_along_axis(x,i,0)|np.take_along_axis(n,i,0)
np.take_along_axis(m,m.astype(np.int32),1)|lib.vmap(lambda k:x[k])(i)|lib.vmap(lambda k:np.take(x,k))(i)|lib.grad(lambda x:np.take(x,i).sum())(x)
lib.grad(lambda x:(x[i]**2).sum())(x)|lib.grad(lambda m:m[:,i].sum())(m)|lib.grad(lambda m:m[i,0].sum())(m)|lib.grad(lambda x:x[i[2]])(x)|lib.jacrev(lambda x:x[i])(x)
lib.jacfwd(lambda x:x[i])(x)|lib.jacfwd(lambda m:m[:,i])(m)|lib.jacfwd(lambda m:m[i,0])(m)|lib.jacfwd(lambda x:x[i[2]])(x)|lib.jacfwd(lambda x:np.take(x,i))(x)
lib.jvp(lambda x:x[i]**2,(x,),(x+1,))[1]|lib.hessian(lambda x:(x[i]**3).sum())(x)|lib.grad(lambda x:lib.jvp(lambda x:x[i]**3,(x,),(x,))[1].sum())(x)
lib.jacfwd(lambda x:lib.vmap(lambda k:x[k])(i))(x)|lib.jacfwd(lambda m:m[i,i])(m)|lib.jacfwd(lambda x:x.at[i].get())(x)|lib.jacfwd(lambda x:x.at[i].get(mode='fill',fill_value=0))(x)
lib.jacfwd(lambda x:x.at[i].get(mode='clip'))(x)|lib.jacrev(lambda x:x.at[i].get(mode='clip'))(x)|lib.jacfwd(lambda x:np.take(x,i,mode='clip'))(x)|lib.jacfwd(lambda m:m[i,1:])(m)
lib.grad(lambda x:x.at[i].get().sum())(x)|lib.grad(lambda m:m[i[2],1])(m)|lib.grad(lambda m:m[i[:2],9].sum())(m)|lib.grad(lambda x:lib.vmap(lambda k:x[k])(i).sum())(x)"""
WRITTEN = """x.at[10].set(9.)|x.at[-7].set(9.)|x.at[i].set(9.)|x.at[i].add(1.)|x.at[i].max(9.)|x.at[i[2]].set(9.)|x.at[i[3]].set(9.)|x.at[i].divide(2.)|x.at[i].multiply(2.)
x.at[i].set(9.,mode='clip')|m.at[5,:2].set(9.)|m.at[i,0].add(1.)|m.at[:,7].set(3.)|x.at[i].power(2.)|m.at[i[2],i[0]].set(9.)|m.at[i[0],i[1]].set(9.)
m.at[i[2]].set(x)|m.at[i[2]].add(x)|m.at[i[0],:].set(x*2)|m.at[i,:].set(9.)|n.at[i[2]].set(9)|lib.vmap(lambda k:x.at[k].set(9.))(i)|lib.vmap(lambda k:m.at[k,0].add(1.))(i)
lib.grad(lambda x:x.at[i].set(x[0]).sum())(x)"""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "text", [t for line in (READ + "\n" + WRITTEN).split("\n") for t in line.split("|")]
)
def test_indices_out_of_bounds(text):
    f = eval(f"lambda np, lib, {', '.join(ARRAYS)}: {text}", {})
    expected = np.asarray(f(jnp, jax, *map(jnp.asarray, ARRAYS.values())))
    with out_of_bounds("jax"):
        found = fg.jit(lambda *arrays: f(fnp, fg, *arrays))(*ARRAYS.values())
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)

"""Types that `tools/stub_packages.py` cannot read from the source: of parameters by name, and of some results."""

from __future__ import annotations

from tools.stub_signatures import ByOption, table

INTS = "int | _Sequence[int]"
FUNCTION = "_Callable[..., _Any]"
PAIR = "tuple[_Array, _Array]"
TRIPLE = "tuple[_Array, _Array, _Array]"
SOME = "tuple[_Array, ...]"

PARAMETERS = {
    "": table(
        {
            "_DTypeLike": "dtype out_dtype new_dtype preferred_element_type index_dtype",
            INTS: "axis axes shape",
            "_Array | tuple[_Array, ...]": "out",
            "str": "casting order mode method norm",
            "_bool": "subok keepdims",
        }
    ),
    "lax": table(
        {
            "None": "out_sharding sharding implementation subset_by_index use_magma",
            "_Sequence[_ArrayLike]": "operands",
            "object": "precision algorithm",
        }
    ),
    "nn": table({"_Any": "params", "object": "axis_name"}),
    "random": table(
        {
            "_Array": "key keys",
            "str": "impl mode",
            INTS: "shape num",
            "int": "d n m",
            "int | _bool": "unroll",
            "None": "out_sharding",
        }
    ),
    "scipy": table(
        {
            "int": "N M k n workers lwork type nperseg noverlap nfft ddof blocksize max_ev caxis baxis "
            "outaxis time_axis freq_axis",
            "int | str": "trans",
            "str": "lapack_driver driver select scaling average nan_policy format assume_a singular kind",
            "_bool": "overwrite_a overwrite_b overwrite_x overwrite_ab overwrite_a_band overwrite_data check_finite disp",
            "tuple[_ArrayLike, _bool]": "c_and_lower cb_and_lower",
            "tuple[_ArrayLike, _ArrayLike]": "lu_and_piv",
            "tuple[int, int]": "l_and_u",
            "_ArrayLike | tuple[_ArrayLike, _ArrayLike]": "c_or_cr",
            "object": "plan xp device",
            "_Any": "bc_type sort",
        }
    ),
    "scipy.fft": table({INTS: "s"}),
    "scipy.integrate": table({"tuple[_Any, ...]": "args", "_Any": "options events"}),
    "scipy.ndimage": table(
        {
            INTS: "order origin radius size output_shape",
            "str | _Sequence[str]": "mode",
            "_DTypeLike | _Array": "output",
        }
    ),
    "scipy.optimize": table(
        {
            "tuple[_Any, ...]": "args",
            f"{FUNCTION} | _bool": "fprime fprime2",
            f"{FUNCTION} | str | _bool": "jac",
            f"{FUNCTION} | str": "method",
            "_Any": "bounds constraints options hess hessp",
        }
    ),
    "scipy.signal": table(
        {"_ArrayLike": "window", f"str | _bool | {FUNCTION}": "detrend", "str | _bool": "boundary"}
    ),
    "scipy.sparse": table({"_Any": "arg1 blocks mats diagonals A B", "tuple[int, ...]": "shape"}),
    "scipy.special": table({"_ArrayLike": "N k n m"}),
}
"""Types of parameters by name: of all packages, of some, of one; others are arrays, or of the type of their default."""

OF_CALLS = (
    "psum pmean pmax pmin all_gather all_to_all pbroadcast ppermute pshuffle psum_scatter pswapaxes"
)
"""The functions of `lax` that take a pytree `x` and return one like it."""

SPECIAL = {
    **{("lax", name, "x"): "_T" for name in OF_CALLS.split()},
    ("lax", "dtype", "x"): "object",
    ("lax", "reduce", "operands"): "_T",
    ("lax", "reduce", "init_values"): "_Any",
    ("lax", "reduce_window", "operand"): "_T",
    ("lax", "reduce_window", "init_value"): "_Any",
    ("lax", "sort", "operand"): "_T",
    ("nn", "batch_norm", "running"): "tuple[_ArrayLike, _ArrayLike]",
    ("nn", "dropout", "key"): "_Array | None",
    ("nn", "lstm", "carry"): f"{PAIR} | None",
    ("nn", "lstm_cell", "carry"): PAIR,
    ("random", "binomial", "n"): "_ArrayLike",
    ("random", "multinomial", "n"): "_ArrayLike",
    ("random", "triangular", "mode"): "_ArrayLike",
    ("scipy.integrate", "odeint", "args"): "_Any",
    ("scipy.optimize", "least_squares", "x0"): "_Any",
    ("scipy.optimize", "minimize", "x0"): "_Any",
    ("scipy.optimize", "root", "x0"): "_Any",
    ("scipy.sparse", "issparse", "x"): "object",
}
"""Types of parameters of some functions; where it is a pytree, `Any`."""

FULL = ByOption("_Array", {"full_output": "tuple[_Any, ...]"})
EXACT = ByOption("_Array", {"exact": "int"})
VALUES = ByOption(PAIR, {"eigvals_only": "_Array"})
SHOWN = ByOption("_Array", {"disp=True/False": "tuple[_Array, _Any]"})
RANKED = ByOption("_Array", {"return_rank": "tuple[_Array, int | _Array]"})
FINAL = ByOption("_Array", {"zi:None/_ArrayLike": PAIR})

_RESULTS: dict[str, dict[str, str | ByOption]] = {
    "lax": {
        **dict.fromkeys([*OF_CALLS.split(), "reduce", "reduce_window", "sort"], "_T"),
        "sort_key_val": PAIR,
    },
    "lax.linalg": {
        "qr": ByOption(PAIR, {"pivoting": TRIPLE}),
        "svd": ByOption(TRIPLE, {"compute_uv=True/False": "_Array"}),
    },
    "nn": {
        "dot_product_attention": ByOption("_Array", {"return_residual": PAIR}),
        "logsumexp": ByOption("_Array", {"return_sign": PAIR}),
        "lstm": f"tuple[{PAIR}, _Array]",
        "lstm_cell": f"tuple[{PAIR}, _Array]",
        "make_fenchel_young_loss": "_Callable[..., _Array]",
    },
    "nn.losses": {"make_fenchel_young_loss": "_Callable[..., _Array]"},
    "scipy.integrate": {
        "fixed_quad": "tuple[_Array, None]",
        "odeint": ByOption("_Array", {"y0:_ArrayLike/_T": "_T"}),
        "quad": PAIR,
        "quad_vec": ByOption(PAIR, {"full_output": "tuple[_Any, ...]"}),
        "solve_ivp": "OptimizeResult",
    },
    "scipy.linalg": {
        "cho_factor": "tuple[_Array, _bool]",
        "eig": ByOption(PAIR, {"left": SOME, "right=True/False": "_Any"}),
        **dict.fromkeys(["eig_banded", "eigh", "eigh_tridiagonal"], VALUES),
        "expm_frechet": ByOption(PAIR, {"compute_expm=True/False": "_Array"}),
        **dict.fromkeys(["funm", "logm", "signm", "sqrtm"], SHOWN),
        "hessenberg": ByOption("_Array", {"calc_q": PAIR}),
        "lstsq": "tuple[_Array, _Array, int | _Array, _Array]",
        "lu": ByOption(TRIPLE, {"permute_l": PAIR}),
        "lu_factor": PAIR,
        "orthogonal_procrustes": PAIR,
        **dict.fromkeys(["pinv", "pinvh"], RANKED),
        "polar": PAIR,
        "qr": ByOption(PAIR, {"mode='full','economic'/'r'": SOME, "pivoting": SOME}),
        "rq": ByOption(PAIR, {"mode='full','economic'/'r'": "_Array"}),
        "schur": ByOption(
            PAIR, {"sort=None/'lhp','rhp','iuc','ouc'": "tuple[_Array, _Array, int]"}
        ),
        "svd": ByOption(TRIPLE, {"compute_uv=True/False": "_Array"}),
    },
    "scipy.optimize": {
        **dict.fromkeys(
            ["least_squares", "minimize", "minimize_scalar", "root", "root_scalar"],
            "OptimizeResult",
        ),
        **dict.fromkeys(["bisect", "brenth", "brentq", "newton", "ridder", "toms748"], FULL),
        "curve_fit": ByOption(PAIR, {"full_output": "tuple[_Any, ...]"}),
    },
    "scipy.signal": {
        **dict.fromkeys(["coherence", "csd", "istft", "periodogram", "welch"], PAIR),
        **dict.fromkeys(["spectrogram", "stft"], TRIPLE),
        **dict.fromkeys(["lfilter", "sosfilt"], FINAL),
        "resample": ByOption("_Array", {"t:None/_ArrayLike": PAIR}),
    },
    "scipy.sparse": {
        f"{format}_{kind}": "SparseArray"
        for format in ("coo", "csc", "csr")
        for kind in ("array", "matrix")
    },
    "scipy.special": {
        **dict.fromkeys(["comb", "factorial", "perm"], EXACT),
        "logsumexp": ByOption("_Array", {"return_sign": PAIR}),
    },
    "scipy.stats": {"mode": "ModeResult"},
}
RESULTS = {
    (package, name): result for package, names in _RESULTS.items() for name, result in names.items()
}
"""Types of results of some functions."""

NAMED = {
    "scipy.optimize": "OptimizeResult",
    "scipy.stats._stats_py": "ModeResult",
}
"""The classes of results that are named tuples, or hold more, by the module that has them."""

AS_THEY_ARE = {
    ("fungrad.programs.loops.platform", "platform_dependent"),
    ("fungrad.training.batches", "minibatches"),
    ("fungrad.training.checkpoint", "save"),
}
"""Functions whose source says `Any` where it is meant: module and name."""

"""The plain NumPy programs of `tests/programs` that JAX can run: the same values and gradients.

JAX runs a program once `np` is `jax.numpy`, if the program changes no array and looks at no values.
"""

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import fungrad as fg  # noqa: E402
from tests import programs  # noqa: E402
from tests.programs import LOOKS_AT_VALUES, PROGRAMS, assert_close, weighted  # noqa: E402

NOT_IN_JAX = {
    "reads through a mask under jit": "leaky_by_mask mean_of_the_positive mandelbrot_with_masks",
    "assigns to elements of an array, or sorts it in place": """
        bellman_ford bezier_by_casteljau binomial_tree biquad_filter blocks bodies_pair_by_pair
        burgers causal_attention chebyshev_table checkerboard cholesky_by_hand
        clamped_accumulation closure_that_writes companion_matrix complex_parts copies_of_views
        counted_paths delay_line differences_in_a_loop distances_by_gram_matrix
        exponential_moving_average filled_and_scaled flat_iteration floyd_warshall
        forward_algorithm forward_and_backward garch_likelihood gates_on_a_register godunov_flux
        gram_schmidt heat_equation_in_place heat_on_a_square hilbert_envelope
        histogram_in_a_loop householder_triangle jacobi_rotations knapsack_relaxed
        lotka_volterra_history matrix_multiply_by_hand matrix_through_views natural_cubic_spline
        neville newton_divided_differences one_buffer_kept_many_times order_statistics_of_rows
        outliers_clipped painted pendulum_trajectory ping_pong poisson_by_gauss_seidel
        poisson_by_jacobi poisson_by_transform positional_encoding power_series_reciprocal
        put_and_place recurrent_states red_black_relaxation relu_by_mask ring_buffer
        rows_collected_in_empty scatter_add seam_through_an_image shifted_sums soft_time_warping
        sorted_by_network sorted_in_place symmetrized_in_place table_of_products thin_film
        thomas triangle_normals wave_equation work_buffer written_to_out
    """,
    "gives a list to a function or as an index": """
        aligned_points binned_by_digitize cumulative_trapezoid downsampled euler_angles_in_place
        histogram_stretched inserted_and_deleted jones_matrices luminance open_mesh
        quantile_range segment_sums survival_probabilities swap_rows taken tiled_and_repeated
        transform_by_hand unraveled weighted_histogram windows_multiplied
    """,
    "calls what jax.numpy and jax.scipy do not have": """
        airy_disk convolution_by_windows dilation dirichlet_entropy gradient_on_a_grid
        integral_by_sampling like_another logistic_regression nd_iteration outer_sums
        subtract_accumulated ufunc_reductions
    """,
    "gives a function repeats or sizes": """
        chosen counts_by_label unique_sums
    """,
    "JAX's function is less exact, or does something else": """
        beta_binomial products_and_quotients
    """,
}
"""Programs that `jax.numpy` cannot run, or runs differently from NumPy, by reason."""

WITHOUT = {name for names in NOT_IN_JAX.values() for name in names.split()} | set(LOOKS_AT_VALUES)
MODULES = {t: programs.with_imports(t, "jax.numpy", "jax.scipy") for t in programs.TOPICS}


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in WITHOUT])
def test_as_jax(name):
    topic, _, changed, args = PROGRAMS[name]
    theirs = getattr(MODULES[topic], name)
    argnums = tuple(range(len(args)))
    run = lambda f, lib, np_: lambda *args: (f(*args), lib.grad(weighted(f, np_), argnums)(*args))
    value, gradient = jax.tree.map(np.asarray, jax.jit(run(theirs, jax, jax.numpy))(*args))
    assert_close(fg.vjp(changed, *args)[0], value, 1e-9, "value")
    assert_close(fg.grad(weighted(changed), argnums)(*args), gradient, 1e-8, "grad")


def test_the_list_names_programs():
    assert set(PROGRAMS) >= WITHOUT

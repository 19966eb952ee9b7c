"""x y + z, rounded once, of arrays of NumPy's; in double precision by means of 80 bits."""

import numpy as np

F4, F8 = np.dtype(np.float32), np.dtype(np.float64)


def halves(x):
    """Two numbers of 26 and 27 bits, whose sum is x."""
    high = (x.view(np.int64) & -(2**26)).view(np.float64)
    return high.astype(np.longdouble), (x - high).astype(np.longdouble)


def sum_and_error(x, y):
    """The rounded sum, and what is rounded off (O. Møller, D. E. Knuth)."""
    total = x + y
    second = total - x
    return total, (x - (total - second)) + (y - second)


def rounded_to_odd(x, error):
    """x, or its neighbour with an odd last digit if something is rounded off x.

    Rounded again, to fewer digits, it gives the sum rounded once (S. Boldo, G. Melquiond, 2008).
    """
    x = np.array(x, order="C")
    even = x.ravel().view(np.uint64)[::2].reshape(x.shape) % 2 == 0
    neighbour = np.nextafter(x, np.where(error > 0, np.inf, -np.inf).astype(np.longdouble))
    return np.where((error != 0) & even, neighbour, x)


def fma(x, y, z):
    dtype = np.result_type(x, y, z)
    if dtype == F4:
        return (np.float64(x) * np.float64(y) + np.float64(z)).astype(F4)
    x, y, z = (np.array(v, F8) for v in np.broadcast_arrays(x, y, z))
    product = x.astype(np.longdouble) * y
    plain = product + z
    with np.errstate(all="ignore"):
        (a, b), (c, d) = halves(x), halves(y)
        error = ((a * c - product) + a * d + b * c) + b * d  # T. J. Dekker
        total, lost = sum_and_error(product, z.astype(np.longdouble))
        rest = rounded_to_odd(*sum_and_error(lost, error))
        total = rounded_to_odd(*sum_and_error(total, rest))
    return np.where(np.isfinite(x) & np.isfinite(y) & np.isfinite(z), total, plain).astype(F8)

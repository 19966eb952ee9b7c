"""PolyBench's stencils: adi, fdtd-2d, heat-3d, jacobi-1d, jacobi-2d and seidel-2d."""

import numpy as np

from tests.reading.polybench.table import Kernel, grid

STEPS = 3
"""Steps in time."""


def adi(steps, u):
    u = u.copy()
    n = u.shape[0]
    v = np.zeros((n, n))
    p = np.zeros((n, n))
    q = np.zeros((n, n))
    dx = 1.0 / n
    dy = 1.0 / n
    dt = 1.0 / steps
    mul1 = 2.0 * dt / (dx * dx)
    mul2 = 1.0 * dt / (dy * dy)
    a = -mul1 / 2.0
    b = 1.0 + mul1
    c = a
    d = -mul2 / 2.0
    e = 1.0 + mul2
    f = d
    for _ in range(steps):
        for i in range(1, n - 1):  # columns
            v[0, i] = 1.0
            p[i, 0] = 0.0
            q[i, 0] = v[0, i]
            for j in range(1, n - 1):
                p[i, j] = -c / (a * p[i, j - 1] + b)
                q[i, j] = (
                    -d * u[j, i - 1] + (1.0 + 2.0 * d) * u[j, i] - f * u[j, i + 1] - a * q[i, j - 1]
                ) / (a * p[i, j - 1] + b)
            v[n - 1, i] = 1.0
            for j in range(n - 2, 0, -1):
                v[j, i] = p[i, j] * v[j + 1, i] + q[i, j]
        for i in range(1, n - 1):  # rows
            u[i, 0] = 1.0
            p[i, 0] = 0.0
            q[i, 0] = u[i, 0]
            for j in range(1, n - 1):
                p[i, j] = -f / (d * p[i, j - 1] + e)
                q[i, j] = (
                    -a * v[i - 1, j] + (1.0 + 2.0 * a) * v[i, j] - c * v[i + 1, j] - d * q[i, j - 1]
                ) / (d * p[i, j - 1] + e)
            u[i, n - 1] = 1.0
            for j in range(n - 2, 0, -1):
                u[i, j] = p[i, j] * u[i, j + 1] + q[i, j]
    return u


def adi_slices(steps, u):
    u = u.copy()
    n = u.shape[0]
    v, p, q = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    a = c = -(n**2) / steps
    b = 1.0 - 2.0 * a
    d = f = a / 2.0
    e = 1.0 - 2.0 * d
    inner = slice(1, n - 1)
    for _ in range(steps):
        v[0, inner] = 1.0
        p[inner, 0] = 0.0
        q[inner, 0] = v[0, inner]
        for j in range(1, n - 1):
            pivot = a * p[inner, j - 1] + b
            known = -d * u[j, : n - 2] + (1.0 + 2.0 * d) * u[j, inner] - f * u[j, 2:]
            p[inner, j] = -c / pivot
            q[inner, j] = (known - a * q[inner, j - 1]) / pivot
        v[n - 1, inner] = 1.0
        for j in range(n - 2, 0, -1):
            v[j, inner] = p[inner, j] * v[j + 1, inner] + q[inner, j]
        u[inner, 0] = 1.0
        p[inner, 0] = 0.0
        q[inner, 0] = u[inner, 0]
        for j in range(1, n - 1):
            pivot = d * p[inner, j - 1] + e
            known = -a * v[: n - 2, j] + (1.0 + 2.0 * a) * v[inner, j] - c * v[2:, j]
            p[inner, j] = -f / pivot
            q[inner, j] = (known - d * q[inner, j - 1]) / pivot
        u[inner, n - 1] = 1.0
        for j in range(n - 2, 0, -1):
            u[inner, j] = p[inner, j] * u[inner, j + 1] + q[inner, j]
    return u


def adi_arguments(n):
    i, j = grid(n, n)
    return STEPS, (i + n - j) / n


def adi_oracle(steps, u):
    """Solve the tridiagonal systems of all columns at once, and then of all rows."""
    u, n = u.copy(), len(u)
    a = -(n**2) / steps

    def swept(u, off, other):
        """Return the solution with `off` beside the diagonal; differences across have `other`."""
        system = np.eye(n)
        system[1:-1] = (1 - 2 * off) * np.eye(n)[1:-1] + off * (np.eye(n, k=1) + np.eye(n, k=-1))[
            1:-1
        ]
        known = np.ones((n, n - 2))
        across = (1 + 2 * other) * u[:, 1:-1] - other * (u[:, :-2] + u[:, 2:])
        known[1:-1] = across[1:-1]
        return np.linalg.solve(system, known)

    for _ in range(steps):
        v = np.zeros((n, n))
        v[:, 1:-1] = swept(u, a, a / 2)
        u[1:-1] = swept(v.T, a / 2, a).T
    return u


def fdtd_2d(fict, ex, ey, hz):
    ex = ex.copy()
    ey = ey.copy()
    hz = hz.copy()
    nx, ny = hz.shape
    for t in range(len(fict)):
        for j in range(ny):
            ey[0, j] = fict[t]
        for i in range(1, nx):
            for j in range(ny):
                ey[i, j] = ey[i, j] - 0.5 * (hz[i, j] - hz[i - 1, j])
        for i in range(nx):
            for j in range(1, ny):
                ex[i, j] = ex[i, j] - 0.5 * (hz[i, j] - hz[i, j - 1])
        for i in range(nx - 1):
            for j in range(ny - 1):
                hz[i, j] = hz[i, j] - 0.7 * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])
    return np.stack([ex, ey, hz])


def fdtd_2d_slices(fict, ex, ey, hz):
    ex, ey, hz = ex.copy(), ey.copy(), hz.copy()
    for t in range(len(fict)):
        ey[0] = fict[t]
        ey[1:] -= 0.5 * (hz[1:] - hz[:-1])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return np.stack([ex, ey, hz])


def fdtd_2d_arguments(n):
    nx, ny = n, n + n // 4
    i, j = grid(nx, ny)
    fict = np.arange(float(STEPS))
    return fict, i * (j + 1) / nx, i * (j + 2) / ny, i * (j + 3) / nx


def fdtd_2d_oracle(fict, ex, ey, hz):
    """Pad what surrounds each field and take differences, without assignment."""
    for source in fict:
        top = np.full((1, ey.shape[1]), source)
        ey = np.concatenate([top, ey[1:] - np.diff(hz, axis=0) / 2])
        ex = ex - np.pad(np.diff(hz, axis=1) / 2, ((0, 0), (1, 0)))
        curl = np.diff(ex, axis=1)[:-1] + np.diff(ey, axis=0)[:, :-1]
        hz = hz - np.pad(0.7 * curl, ((0, 1), (0, 1)))
    return np.stack([ex, ey, hz])


def heat_3d(steps, A, B):
    A = A.copy()
    B = B.copy()
    n = A.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                for k in range(1, n - 1):
                    B[i, j, k] = (
                        0.125 * (A[i + 1, j, k] - 2.0 * A[i, j, k] + A[i - 1, j, k])
                        + 0.125 * (A[i, j + 1, k] - 2.0 * A[i, j, k] + A[i, j - 1, k])
                        + 0.125 * (A[i, j, k + 1] - 2.0 * A[i, j, k] + A[i, j, k - 1])
                        + A[i, j, k]
                    )
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                for k in range(1, n - 1):
                    A[i, j, k] = (
                        0.125 * (B[i + 1, j, k] - 2.0 * B[i, j, k] + B[i - 1, j, k])
                        + 0.125 * (B[i, j + 1, k] - 2.0 * B[i, j, k] + B[i, j - 1, k])
                        + 0.125 * (B[i, j, k + 1] - 2.0 * B[i, j, k] + B[i, j, k - 1])
                        + B[i, j, k]
                    )
    return A


def heat_3d_slices(steps, A, B):
    A, B = A.copy(), B.copy()
    for _ in range(steps):
        for new, old in ((B, A), (A, B)):
            core = old[1:-1, 1:-1, 1:-1]
            new[1:-1, 1:-1, 1:-1] = (
                0.125 * (old[2:, 1:-1, 1:-1] - 2.0 * core + old[:-2, 1:-1, 1:-1])
                + 0.125 * (old[1:-1, 2:, 1:-1] - 2.0 * core + old[1:-1, :-2, 1:-1])
                + 0.125 * (old[1:-1, 1:-1, 2:] - 2.0 * core + old[1:-1, 1:-1, :-2])
                + core
            )
    return A


def heat_3d_arguments(n):
    i, j, k = grid(n, n, n)
    A = (i + j + (n - k)) * 10.0 / n
    return STEPS, A, A.copy()


def jacobi_1d(steps, A, B):
    A = A.copy()
    B = B.copy()
    n = len(A)
    for _ in range(steps):
        for i in range(1, n - 1):
            B[i] = 0.33333 * (A[i - 1] + A[i] + A[i + 1])
        for i in range(1, n - 1):
            A[i] = 0.33333 * (B[i - 1] + B[i] + B[i + 1])
    return A


def jacobi_1d_slices(steps, A, B):
    A, B = A.copy(), B.copy()
    for _ in range(steps):
        B[1:-1] = 0.33333 * (A[:-2] + A[1:-1] + A[2:])
        A[1:-1] = 0.33333 * (B[:-2] + B[1:-1] + B[2:])
    return A


def jacobi_1d_arguments(n):
    i = np.arange(n)
    return STEPS, (i + 2.0) / n, (i + 3.0) / n


def jacobi_2d(steps, A, B):
    A = A.copy()
    B = B.copy()
    n = A.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                B[i, j] = 0.2 * (A[i, j] + A[i, j - 1] + A[i, j + 1] + A[i + 1, j] + A[i - 1, j])
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                A[i, j] = 0.2 * (B[i, j] + B[i, j - 1] + B[i, j + 1] + B[i + 1, j] + B[i - 1, j])
    return A


def jacobi_2d_slices(steps, A, B):
    A, B = A.copy(), B.copy()
    for _ in range(steps):
        B[1:-1, 1:-1] = 0.2 * (
            A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1]
        )
        A[1:-1, 1:-1] = 0.2 * (
            B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1]
        )
    return A


def jacobi_2d_arguments(n):
    i, j = grid(n, n)
    return STEPS, (i * (j + 2.0) + 2.0) / n, (i * (j + 3.0) + 3.0) / n


def seidel_2d(steps, A):
    A = A.copy()
    n = A.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                A[i, j] = (
                    A[i - 1, j - 1]
                    + A[i - 1, j]
                    + A[i - 1, j + 1]
                    + A[i, j - 1]
                    + A[i, j]
                    + A[i, j + 1]
                    + A[i + 1, j - 1]
                    + A[i + 1, j]
                    + A[i + 1, j + 1]
                ) / 9.0
    return A


def seidel_2d_slices(steps, A):
    A = A.copy()
    n = A.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                A[i, j] = np.sum(A[i - 1 : i + 2, j - 1 : j + 2]) / 9.0
    return A


def seidel_2d_arguments(n):
    i, j = grid(n, n)
    return STEPS, (i * (j + 2.0) + 2.0) / n


def seidel_2d_oracle(steps, A):
    """Solve a triangular system for each step: new values of neighbours before, old ones of the others."""
    i, j = (index.ravel() for index in grid(*A.shape))
    near = (abs(i[:, np.newaxis] - i) <= 1) & (abs(j[:, np.newaxis] - j) <= 1)
    inside = (i > 0) & (i < len(A) - 1) & (j > 0) & (j < len(A) - 1)
    weights = np.where(inside[:, np.newaxis], near / 9, np.eye(i.size))
    before = np.tril(weights, -1)
    values = A.ravel()
    for _ in range(steps):
        values = np.linalg.solve(np.eye(i.size) - before, (weights - before) @ values)
    return values.reshape(A.shape)


def repeated(weights):
    """Return an oracle: convolutions with `weights`, twice a step; the boundary of each array stays."""

    def oracle(steps, A, B):
        from scipy.signal import convolve

        inner = (slice(1, -1),) * A.ndim
        A, B = A.copy(), B.copy()
        for _ in range(steps):
            B[inner] = convolve(A, weights, mode="valid", method="direct")
            A[inner] = convolve(B, weights, mode="valid", method="direct")
        return A

    return oracle


def cross(dimensions, beside, centre):
    """Return weights of an element and its neighbours along each axis."""
    distance = sum(abs(index - 1) for index in grid(*(3,) * dimensions))
    return np.where(distance == 0, centre, np.where(distance == 1, beside, 0.0))


KERNELS = [
    Kernel(
        name="adi",
        function=adi,
        make_arguments=adi_arguments,
        oracle=adi_oracle,
        differentiated=(1,),
        slices=adi_slices,
        static=(0,),
    ),
    Kernel(
        name="fdtd_2d",
        function=fdtd_2d,
        make_arguments=fdtd_2d_arguments,
        oracle=fdtd_2d_oracle,
        differentiated=(0, 1, 2, 3),
        slices=fdtd_2d_slices,
    ),
    Kernel(
        name="heat_3d",
        function=heat_3d,
        make_arguments=heat_3d_arguments,
        oracle=repeated(cross(3, beside=0.125, centre=0.25)),
        differentiated=(1, 2),
        slices=heat_3d_slices,
        static=(0,),
    ),
    Kernel(
        name="jacobi_1d",
        function=jacobi_1d,
        make_arguments=jacobi_1d_arguments,
        oracle=repeated(cross(1, beside=0.33333, centre=0.33333)),
        differentiated=(1, 2),
        slices=jacobi_1d_slices,
        static=(0,),
    ),
    Kernel(
        name="jacobi_2d",
        function=jacobi_2d,
        make_arguments=jacobi_2d_arguments,
        oracle=repeated(cross(2, beside=0.2, centre=0.2)),
        differentiated=(1, 2),
        slices=jacobi_2d_slices,
        static=(0,),
    ),
    Kernel(
        name="seidel_2d",
        function=seidel_2d,
        make_arguments=seidel_2d_arguments,
        oracle=seidel_2d_oracle,
        differentiated=(1,),
        slices=seidel_2d_slices,
        static=(0,),
    ),
]

"""Image processing."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view


def box_blur(image, radius=1):
    width = 2 * radius + 1
    padded = np.pad(image, radius + 1, mode="edge")[:-1, :-1]
    s = padded.cumsum(axis=0).cumsum(axis=1)
    return (
        s[width:, width:] - s[:-width, width:] - s[width:, :-width] + s[:-width, :-width]
    ) / width**2


def sobel(image):
    gx = image[:-2, 2:] + 2 * image[1:-1, 2:] + image[2:, 2:]
    gx = gx - (image[:-2, :-2] + 2 * image[1:-1, :-2] + image[2:, :-2])
    gy = image[2:, :-2] + 2 * image[2:, 1:-1] + image[2:, 2:]
    gy = gy - (image[:-2, :-2] + 2 * image[:-2, 1:-1] + image[:-2, 2:])
    return np.hypot(gx, gy)


def resized(image, shape=(3, 7)):
    rows, columns = (np.linspace(0, n - 1, m) for n, m in zip(image.shape, shape))
    i = np.minimum(rows.astype(int), image.shape[0] - 2)[:, None]
    j = np.minimum(columns.astype(int), image.shape[1] - 2)
    y, x = rows[:, None] - i, columns - j
    return (
        image[i, j] * (1 - y) * (1 - x)
        + image[i + 1, j] * y * (1 - x)
        + image[i, j + 1] * (1 - y) * x
        + image[i + 1, j + 1] * y * x
    )


def gamma_corrected(image, gamma):
    linear = np.clip(image, 0.0, 1.0)
    low = linear <= 0.0031308
    curve = 1.055 * np.where(low, 1.0, linear) ** (1 / gamma) - 0.055
    return np.where(low, 12.92 * linear, curve)


def rotated_and_flipped(image):
    return np.rot90(image)[::-1] * np.fliplr(image.T) - np.flipud(np.rot90(image, 3))


def mirrored_padding(image):
    return np.pad(image, ((1, 2), (2, 1)), mode="reflect") * np.pad(image, (2, 2), "wrap")[:-1, :-1]


def downsampled(image):
    return np.add.reduceat(np.add.reduceat(image, [0, 2], axis=0), [0, 2], axis=1) / 4


def rolled_difference(image):
    return np.roll(image, (1, -1), axis=(0, 1)) - image * np.roll(image, 1)


def luminance(rgb):
    grey = np.dot(rgb, [0.299, 0.587, 0.114])
    return np.stack([grey] * 3, axis=-1) * 0.5 + rgb * 0.5


def separable_blur(image, sigma):
    k = np.exp(-0.5 * (np.arange(-1, 2) / sigma) ** 2)
    k /= k.sum()
    rows = np.apply_along_axis(np.convolve, 1, image, k, mode="same")
    return np.apply_along_axis(lambda c: np.convolve(c, k, "same"), 0, rows)


def histogram_stretched(image):
    low, high = np.percentile(image, [10, 90])
    return np.clip((image - low) / (high - low), 0, 1)


def bilateral(image, sigma):
    out, weight = np.zeros_like(image), np.zeros_like(image)
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            shifted = np.roll(image, (dy, dx), (0, 1))
            w = np.exp(-((shifted - image) ** 2) / sigma**2 - 0.5 * (dx**2 + dy**2))
            out += w * shifted
            weight += w
    out /= weight
    return out


def checkerboard(image, strength):
    a = image.copy()
    a[::2, ::2] *= strength
    a[1::2, 1::2] -= strength
    return a


def dilation(image):
    windows = sliding_window_view(np.pad(image, 1, mode="edge"), (3, 3))
    return windows.max(axis=(-1, -2)) - windows.min(axis=(2, 3))


def haar_wavelet(image):
    def step(a):
        return np.concatenate([(a[0::2] + a[1::2]) / 2, (a[0::2] - a[1::2]) / 2])

    return step(step(image).T).T


def painted(image, colour):
    canvas = np.zeros((6, 6, 3))
    canvas[1:5, 1:5, :] = image[..., None]
    canvas[2:4, 2:4] += colour
    canvas[..., 0] = canvas[..., 1] * canvas[..., 2]
    return canvas


def inputs(rng):
    n, u = rng.normal, rng.uniform
    image = n(size=(4, 4))
    return {
        "box_blur": (image,),
        "sobel": (image,),
        "resized": (image,),
        "gamma_corrected": (u(-0.2, 1.2, (3, 3)), np.float64(2.2)),
        "rotated_and_flipped": (image,),
        "mirrored_padding": (image,),
        "downsampled": (image,),
        "rolled_difference": (image,),
        "luminance": (n(size=(2, 2, 3)),),
        "separable_blur": (image, np.float64(0.8)),
        "histogram_stretched": (image,),
        "bilateral": (image, np.float64(1.2)),
        "checkerboard": (image, np.float64(0.5)),
        "dilation": (image,),
        "haar_wavelet": (image,),
        "painted": (image, n(size=3)),
    }


NOT_OVERRIDABLE = {
    "painted": "assigns to np.zeros",
}
LOOKS_AT_VALUES = {}

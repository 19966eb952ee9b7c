"""Small linear systems in a C that compilers for CUDA and for the host share: a thread solves one.

Matrices lie in C order. As in cuSOLVER's functions, nothing is raised: what is singular gives infinities and NaNs.
"""

from __future__ import annotations

LARGEST = 16
"""Most equations of a system: a thread takes n^3 / 3 products, one after the other."""

FUNCTIONS = {
    # Gaussian elimination with partial pivoting of n x n `a`, beside n x m `b`. Golub and Van Loan, section 3.4.
    "eliminated": """bool eliminated_{t}({t}* a, {t}* b, int n, int m) {{
  bool odd = false;
  for (int k = 0; k < n; k++) {{
    int p = k;
    for (int i = k + 1; i < n; i++)
      if (fabs{f}(a[i * n + k]) > fabs{f}(a[p * n + k])) p = i;
    if (a[p * n + k] == 0) continue;
    if (p != k) {{
      for (int j = k; j < n; j++) {{ {t} x = a[k * n + j]; a[k * n + j] = a[p * n + j]; a[p * n + j] = x; }}
      for (int j = 0; j < m; j++) {{ {t} x = b[k * m + j]; b[k * m + j] = b[p * m + j]; b[p * m + j] = x; }}
      odd = !odd;
    }}
    for (int i = k + 1; i < n; i++) {{
      {t} l = a[i * n + k] / a[k * n + k];
      for (int j = k + 1; j < n; j++) a[i * n + j] -= l * a[k * n + j];
      for (int j = 0; j < m; j++) b[i * m + j] -= l * b[k * m + j];
    }}
  }}
  return odd;
}}""",
    # Back substitution, and forward substitution: n x m `b` becomes the solution. The same, section 3.1.
    "substituted": """void substituted_{t}(const {t}* a, {t}* b, int n, int m, bool lower, bool unit) {{
  for (int k = 0; k < n; k++) {{
    int i = lower ? k : n - 1 - k;
    for (int j = 0; j < m; j++) {{
      {t} x = b[i * m + j];
      for (int l = lower ? 0 : i + 1; l < (lower ? i : n); l++) x -= a[i * n + l] * b[l * m + j];
      b[i * m + j] = unit ? x : x / a[i * n + i];
    }}
  }}
}}""",
    # Cholesky's factor, with zeros above: section 4.2.
    "factored": """void factored_{t}({t}* a, int n) {{
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {{
      {t} x = a[i * n + j];
      for (int k = 0; k < (i < j ? i : j); k++) x -= a[i * n + k] * a[j * n + k];
      a[i * n + j] = j > i ? 0 : j == i ? sqrt{f}(x) : x / a[j * n + j];
    }}
}}""",
    # Sign and logarithm of the product of a diagonal.
    "sized": """void sized_{t}(const {t}* a, int n, bool odd, {t}* sign, {t}* size) {{
  {t} s = odd ? -1 : 1, l = 0;
  for (int i = 0; i < n; i++) {{
    {t} x = a[i * n + i];
    s = x < 0 ? -s : x == 0 ? 0 * s : s;
    l += log{f}(fabs{f}(x));
  }}
  *sign = s;
  *size = l;
}}""",
    "product": """{t} product_{t}(const {t}* a, int n, bool odd) {{
  {t} x = odd ? -1 : 1;
  for (int i = 0; i < n; i++) x *= a[i * n + i];
  return x;
}}""",
}
"""Functions, by name, for a type `t` whose functions end in `f`."""

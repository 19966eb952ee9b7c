"""Start of all modules of LLVM's assembly: the table of addresses, and functions called through it."""

from __future__ import annotations

from collections.abc import Set

from fungrad.compile.lapack import SIGNATURES

INTERRUPTED = "@interrupted"
"""The function that says whether a loop must end: for the user, or for a warning of NumPy's.

It takes the position of the thread's state, if other threads may run meanwhile.
"""
STOPPED = 256
"""Return value of a function that has set an exception: no sum of flags."""
HEAD = 7
"""How many numbers of a function that Python calls come before those of its operands."""


class Table:
    """Addresses used by code, by name: places of one array, which is filled where code is loaded."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}

    def __getitem__(self, name: str) -> int:
        """Return the place of an address."""
        return self.places.setdefault(name, len(self.places))

    def definition(self) -> str:
        """Return the array of all places that have been asked for."""
        return f"@table = global [{len(self.places)} x ptr] zeroinitializer, align 64\n"


PRELUDE = """
define internal ptr @address(i64 %k) alwaysinline {
  %place = getelementptr ptr, ptr @table, i64 %k
  %value = load ptr, ptr %place
  ret ptr %value
}
"""
"""The function that reads the table."""


def from_runtime(name: str) -> str:
    """Return the name in tables of a function of the runtime (`llvm_runtime`)."""
    return f"runtime {name}"


def interrupted(table: Table) -> str:
    """Return the definition of `INTERRUPTED`, which calls the runtime's."""
    return f"""
define internal i32 {INTERRUPTED}(ptr %context) noinline {{
  %function = call ptr @address(i64 {table[from_runtime("interrupted")]})
  %code = call i32 %function(ptr %context)
  ret i32 %code
}}
"""


def of_lapack(names: Set[str], table: Table) -> str:
    """Return the functions ``@lapack.<name>``, which call those of LAPACK by the table."""
    lines = []
    for name in sorted(names):
        given = ", ".join([f"ptr %x{k}" for k in range(SIGNATURES[name].count("*"))])
        lines += [
            f"define internal void @lapack.{name}({given}) noinline {{",
            f"  %function = call ptr @address(i64 {table[f'lapack {name}']})",
            f"  call void %function({given})",
            "  ret void",
            "}",
        ]
    return "\n".join(lines) + "\n"


def declarations(needed: set[str]) -> str:
    """Return the declarations of intrinsics."""
    return "\n".join(sorted(needed)) + "\n"

"""The syntax tree of a function that runs, found by its code object and checked against it."""

from __future__ import annotations
import __future__

import ast
import functools
import linecache
import opcode
import re
import threading
import warnings
from collections.abc import Iterator, Sequence
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

from fungrad.reading.nodes import children, copied, walk

__all__ = [
    "Definition",
    "Unreadable",
    "compiled",
    "definition_of",
    "only_computes",
    "pairs",
    "statements_compiled",
]

Definition = ast.FunctionDef | ast.Lambda

FUTURE = functools.reduce(
    int.__or__, [getattr(__future__, name).compiler_flag for name in __future__.all_feature_names]
)
"""The bits of a code object's flags that say which future statements it was compiled under."""

NOT_PLAIN = 0x20 | 0x80 | 0x100 | 0x200
"""The flags of generators and of asynchronous functions."""


_TURN = threading.RLock()
"""Lock for parsing and compiling: up to Python 3.12 all threads share one counter of depth."""


class Unreadable(Exception):
    """A function cannot be read; the message says why."""


def definition_of(code: CodeType, module: dict[str, Any]) -> tuple[Definition, list[str]]:
    """Return the definition of a function, at its place in the file, and names its module has imported.

    Raises
    ------
    Unreadable
        If the source is not there, or is not the source that the code was compiled from.
    """
    lines = _lines_of(code, module)
    for node in _candidates(code, lines):
        names = _imported(code, module)
        for _ in range(_TRIALS):
            try:
                again = compiled(node, code, [*names])
            except (SyntaxError, ValueError):
                break
            differs = _difference(again, code)
            if differs is None:
                return node, [*names]
            if not differs:
                break
            names ^= {differs}  # which is imported in the one and not in the other
    raise Unreadable("its source is not the one it was compiled from")


def only_computes(code: CodeType) -> bool:
    """Whether a function consists of operators on variables and constants: nothing in it needs to be read."""
    text = code.co_code
    operations = zip(text[::2], text[1::2], strict=True)
    return not code.co_exceptiontable and all(
        of in _COMPUTING and (of != _BINARY or which < _IN_PLACE) for of, which in operations
    )


_COMPUTING = frozenset(
    opcode.opmap[name]
    for name in (
        *("BINARY_OP", "BUILD_TUPLE", "CACHE", "COMPARE_OP", "COPY_FREE_VARS", "LOAD_CONST"),
        *("LOAD_DEREF", "LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_BORROW_LOAD_FAST_BORROW"),
        *("LOAD_FAST_LOAD_FAST", "LOAD_GLOBAL", "LOAD_SMALL_INT", "NOP", "RESUME"),
        *("RETURN_CONST", "RETURN_VALUE", "STORE_FAST", "STORE_FAST_LOAD_FAST"),
        *("STORE_FAST_STORE_FAST", "SWAP", "UNARY_NEGATIVE"),
    )
    if name in opcode.opmap
)
_BINARY, _IN_PLACE = opcode.opmap["BINARY_OP"], 13
"""The instruction of operators, and the first of its arguments that stands for one in place."""


def _lines_of(code: CodeType, module: dict[str, Any]) -> list[str]:
    if code.co_flags & NOT_PLAIN:
        raise Unreadable("it is a generator or a coroutine")
    try:
        lines = linecache.getlines(code.co_filename, module)
    except IndexError:  # doctest's, of a function of another block
        lines = []
    if not lines or not 0 < code.co_firstlineno <= len(lines):
        raise Unreadable("its source is not there")
    return lines


_TRIALS = 8
"""How often a definition is compiled for other guesses at what its module has imported."""


def _imported(code: CodeType, module: dict[str, Any]) -> set[str]:
    """Guess the names that the module imports: Python compiles calls of their attributes otherwise.

    It does so for variables of the function that have such a name as well.
    """
    home = module.get("__name__")
    names, waiting = set[str](), [code]
    while waiting:
        each = waiting.pop()
        names.update(each.co_names, each.co_varnames, each.co_cellvars, each.co_freevars)
        waiting += [x for x in each.co_consts if isinstance(x, CodeType)]
    kinds = ModuleType | type | FunctionType | BuiltinFunctionType
    return {
        name
        for name in names
        if isinstance(module.get(name), kinds) and getattr(module[name], "__module__", None) != home
    }


def _difference(a: CodeType, b: CodeType) -> str | None:
    """Return None if two code objects were compiled from one text, and so were the functions inside them.

    Else it is the name that was used last before they differ, of which one may have been imported; "" if there is none.
    """
    waiting = [(a, b)]
    while waiting:
        x, y = waiting.pop()
        if (x.co_names, x.co_varnames, len(x.co_consts)) != (
            y.co_names,
            y.co_varnames,
            len(y.co_consts),
        ):
            return ""
        if x.co_code != y.co_code or (
            (x.co_firstlineno, x.co_linetable) != (y.co_firstlineno, y.co_linetable)
            and [*x.co_positions()] != [*y.co_positions()]
        ):
            return _name_before(x, y)
        for c, d in zip(x.co_consts, y.co_consts, strict=True):
            if isinstance(c, CodeType) and isinstance(d, CodeType):
                waiting.append((c, d))
            elif type(c) is not type(d) or repr(c) != repr(d):
                return ""
    return None


def _name_before(a: CodeType, b: CodeType) -> str:
    """Return the name that was loaded last before two codes differ."""
    import dis  # which most functions do not need

    name = ""
    for x, y in zip(dis.get_instructions(a), dis.get_instructions(b), strict=False):
        for each in (y, x):
            if each.opname.startswith(_LOADING):
                name = each.argval if type(each.argval) is str else each.argval[-1]
        jumps = x.opcode in dis.hasjrel or x.opcode in dis.hasjabs  # over what differs later
        if x.opcode != y.opcode or (x.arg != y.arg and not jumps):
            break
    return name


_LOADING = ("LOAD_GLOBAL", "LOAD_FAST", "LOAD_DEREF", "LOAD_CLASSDEREF")


def _candidates(code: CodeType, lines: list[str]) -> Iterator[Definition]:
    """Yield the definitions that may be that of a code object, the likeliest first."""
    first, last = code.co_firstlineno, _last_line(code)
    # Statements that compile to nothing may follow the last one that is in the code.
    for more in range(min(4, len(lines) - last + 1)):
        text = "".join(lines[first - 1 : last + more])
        indented = text[:1] in " \t" and first > 1
        lead = "\n" * (first - 1 - indented) + ("if 1:\n" if indented else "")
        try:
            tree = _parsed(lead + text)
        except (SyntaxError, ValueError):
            continue
        whole = tree.body[0].body if indented else tree.body  # type: ignore[attr-defined]
        found = [node for node in whole if _may_be(node, code)]
        found = found or [node for node in walk(tree) if _may_be(node, code)]
        if found:
            yield from found  # type: ignore[misc]
            return
    with_all = _whole(code.co_filename, tuple(lines))
    if with_all is not None:
        # Copies: the tree is kept, and what is found may be changed.
        yield from (copied(node) for node in walk(with_all) if _may_be(node, code))  # type: ignore[misc]


@functools.lru_cache(maxsize=4)
def _whole(filename: str, lines: tuple[str, ...]) -> ast.Module | None:
    """Return the tree of a whole file: lambdas stand in the middle of statements."""
    try:
        return _parsed("".join(lines))
    except (SyntaxError, ValueError):
        return None


_QUIET = "<read by fungrad>"
"""The file that what is compiled here is said to be of, since Python's warnings are filtered by it."""

_FILTER = ("ignore", None, Warning, re.compile(re.escape(_QUIET)), 0)


def _compiled_quietly(text: str | ast.Module, flags: int) -> Any:
    """Compile without the warnings that Python gave when it compiled the user's module.

    `warnings.catch_warnings` will not do: it changes what other threads see, and they change what it has set.
    """
    with _TURN:
        for trial in range(_TRIES):
            if _filters()[:1] != [_FILTER]:
                warnings.filterwarnings("ignore", module=_FILTER[3].pattern)
            try:
                return compile(text, _QUIET, "exec", flags, dont_inherit=True)
            except SyntaxError:  # or a warning, where another thread has just set its own filters
                if trial == _TRIES - 1 or _filters()[:1] == [_FILTER]:
                    raise
    raise AssertionError  # not reached: the last try raises


def _filters() -> list[Any]:
    """Return the filters of warnings in force: from Python 3.14 on a context may have its own."""
    of_context = getattr(warnings, "_get_filters", None)
    return list(warnings.filters if of_context is None else of_context())


_TRIES = 100
"""How often something is compiled while other threads set filters that make errors of warnings."""


def _parsed(text: str) -> ast.Module:
    tree: ast.Module = _compiled_quietly(text, ast.PyCF_ONLY_AST)
    return tree


def _may_be(node: ast.AST, code: CodeType) -> bool:
    if isinstance(node, ast.Lambda):
        return code.co_name == "<lambda>" and node.lineno == code.co_firstlineno
    if not isinstance(node, ast.FunctionDef):
        return False
    first = min([node.lineno, *[x.lineno for x in node.decorator_list]])
    return node.name == code.co_name and first == code.co_firstlineno


def _last_line(code: CodeType) -> int:
    """Return the last line of a function that something is compiled of, the functions inside it counted."""
    last, waiting = code.co_firstlineno, [code]
    while waiting:
        each = waiting.pop()
        last = max(last, *[end or 0 for _, end, _, _ in each.co_positions()])
        waiting += [x for x in each.co_consts if isinstance(x, CodeType)]
    return last


def compiled(node: Definition, code: CodeType, imported: Sequence[str] = ()) -> CodeType:
    """Return the code of a definition, compiled where `code` was: in its class, with its free variables.

    The module is one that has imported some names.
    """
    arguments = node.args
    bare = ast.arguments(
        posonlyargs=arguments.posonlyargs,
        args=arguments.args,
        vararg=arguments.vararg,
        kwonlyargs=arguments.kwonlyargs,
        kw_defaults=[None] * len(arguments.kwonlyargs),
        kwarg=arguments.kwarg,
        defaults=[],
    )
    inner: ast.stmt
    if isinstance(node, ast.Lambda):
        inner = ast.copy_location(
            ast.Expr(ast.copy_location(ast.Lambda(bare, node.body), node)), node
        )
    else:
        inner = ast.copy_location(
            ast.FunctionDef(
                name=node.name, args=bare, body=node.body, decorator_list=node.decorator_list
            ),
            node,
        )
    owner = _class_of(code)
    if owner:
        inner = ast.ClassDef(name=owner, bases=[], keywords=[], body=[inner], decorator_list=[])
    free = [name for name in code.co_freevars if name != "__class__"]
    none = ast.Constant(None)
    cells: list[ast.stmt] = [ast.Assign([ast.Name(name, ast.Store())], none) for name in free]
    name = owner or code.co_name
    if name not in free and name != "<lambda>":  # else it would be a free variable inside
        cells.append(ast.Global([name]))
    no_arguments = ast.arguments([], [], None, [], [], None, [])
    around = ast.FunctionDef(
        name="around", args=no_arguments, body=[*cells, inner], decorator_list=[]
    )
    imports: list[ast.stmt] = [ast.Import([ast.alias(name)]) for name in imported]
    module = ast.Module([*imports, around], [])
    _locate_wrappers(module, node)
    result = first_code(_compiled_quietly(module, code.co_flags & FUTURE), "around")
    if owner:
        result = first_code(result, owner)
    result = _in_file(first_code(result, code.co_name), code.co_filename)
    return result.replace(co_firstlineno=code.co_firstlineno, co_qualname=code.co_qualname)


def _in_file(code: CodeType, filename: str) -> CodeType:
    """Return a code, and those of the functions inside it, as compiled from a file."""
    # The depth is that of the nesting of functions in the text, which Python's own compiler bounds.
    inside = tuple(_in_file(x, filename) if isinstance(x, CodeType) else x for x in code.co_consts)
    return code.replace(co_filename=filename, co_consts=inside)


def statements_compiled(
    body: list[ast.stmt], code: CodeType, name: str, names: Sequence[str]
) -> CodeType:
    """Return the code of a function of some variables whose body is part of the function of `code`."""
    arguments = ast.arguments([], [ast.arg(x) for x in names], None, [], [], None, [])
    inner: ast.stmt = ast.FunctionDef(name=name, args=arguments, body=body, decorator_list=[])
    inner.lineno, inner.col_offset = body[0].lineno, 0
    inner.end_lineno, inner.end_col_offset = body[-1].end_lineno, body[-1].end_col_offset
    owner = _class_of(code)
    if owner:
        inner = ast.ClassDef(name=owner, bases=[], keywords=[], body=[inner], decorator_list=[])
    module = ast.Module([inner], [])
    _locate_wrappers(module, body[0])
    whole = _compiled_quietly(module, code.co_flags & FUTURE)
    result = first_code(first_code(whole, owner) if owner else whole, name)
    return _in_file(result, code.co_filename).replace(co_qualname=code.co_qualname)


def _locate_wrappers(node: ast.AST, at: ast.AST) -> None:
    """Give the place of another node to all that have none, down to those that have one."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef) and not hasattr(node, "type_params"):
        setattr(node, "type_params", [])  # noqa: B010 - Python 3.12 and later ask for it
    for child in children(node):
        if "lineno" not in child._attributes:
            _locate_wrappers(child, at)
        elif not hasattr(child, "lineno"):
            ast.copy_location(child, at)
            _locate_wrappers(child, at)
        elif isinstance(child, ast.FunctionDef | ast.ClassDef | ast.Expr):
            _locate_wrappers(child, at)


def first_code(code: CodeType, name: str) -> CodeType:
    """Return the first function or class of a name that is defined in `code`."""
    return next(x for x in code.co_consts if isinstance(x, CodeType) and x.co_name == name)


def pairs(new: CodeType, original: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """Yield the code of a function that was read, and of those inside it, with what each was made of."""
    waiting = [(new, original)]
    while waiting:
        pair = waiting.pop()
        yield pair
        inside = {_begins(x): x for x in pair[1].co_consts if isinstance(x, CodeType)}
        codes = [x for x in pair[0].co_consts if isinstance(x, CodeType)]
        waiting += [(x, inside[_begins(x)]) for x in codes if _begins(x) in inside]


def _begins(code: CodeType) -> tuple[str, int, tuple[int, int]]:
    """Return the name of a function and where its text begins; a column tells lambdas of one line apart."""
    if not code.co_name.startswith("<"):
        return code.co_name, code.co_firstlineno, (0, 0)
    places = [(line, column) for line, _, column, _ in code.co_positions() if line and column]
    return code.co_name, code.co_firstlineno, min(places, default=(0, 0))


def _class_of(code: CodeType) -> str:
    """Return the class whose body defines a function, which mangles private names; "" if none does."""
    outer = code.co_qualname.rpartition(".")[0]
    name = outer.rpartition(".")[2]
    return "" if name == "<locals>" else name

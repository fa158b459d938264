"""How compiled code is put together: kernels are translated once, and optimised where they end up.

numba makes every function into a program of its own: optimised, turned into machine code, and
wrapped so that Python can call it; and once more inside each function that calls it. But kernels
are called by compiled code alone. So a kernel stays as it was translated. What Python calls gathers
the kernels that it needs, each once, and optimises all of them together. LLVM decides which of them
to copy to where they are called from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from types import FunctionType
from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NativeLowering
from numba.core.types import unliteral

# numba has no types.
_NumbaLibrary: Any = JITCodeLibrary
_NumbaCompiler: Any = Compiler
_NumbaDispatcher: Any = CPUDispatcher
_NumbaPass: Any = LoweringPass


class _Translated(_NumbaLibrary):  # type: ignore[misc]
    """The code of one kernel, as it was translated: for others to take in."""

    def _optimize_functions(self, module: Any) -> None:
        """Left to whoever takes it in."""

    def add_linking_library(self, library: Any) -> None:
        self._linking_libraries.append(library)

    def finalize(self) -> None:
        self._finalized = True


class Whole(_NumbaLibrary):  # type: ignore[misc]
    """The code of functions that Python calls, and of all kernels under them."""

    def _optimize_functions(self, module: Any) -> None:
        """Done with everything else, in `_optimize_final_module`."""

    def finalize(self) -> None:
        """Gather the kernels, optimise, and make machine code."""
        self._called_by_python = {f.name for f in self.get_defined_functions()}
        self._linking_libraries = list(_all_under(self, {}))
        super().finalize()

    def _optimize_final_module(self) -> None:
        # Nobody else sees the kernels, so LLVM may drop arguments that they do not use, and no
        # other code that is loaded can be taken for theirs.
        for function in self.get_defined_functions():
            if function.name not in self._called_by_python and function.linkage.name != "private":
                function.linkage = "internal"
        super()._optimize_final_module()


def _all_under(library: Any, seen: dict[Any, None]) -> Iterator[Any]:
    """The libraries that ``library`` needs, directly or not, each once."""
    for needed in library._linking_libraries:
        if needed not in seen:
            seen[needed] = None
            yield needed
            if isinstance(needed, _Translated):
                yield from _all_under(needed, seen)


@register_pass(mutates_CFG=False, analysis_only=False)
class _MakeKnown(_NumbaPass):  # type: ignore[misc]
    """Make a kernel known to the compiled code that calls it."""

    _name = "driftbandits_make_known"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        key = object()  # numba has the function that Python calls here; any other key will do
        state.targetctx.insert_user_function(key, state["cr"].fndesc, [state.library])
        state["cr"] = state["cr"]._replace(cfunc=key)
        return True


class _Compiler(_NumbaCompiler):  # type: ignore[misc]
    """numba's compiler, which may be told that arguments do not overlap (`row_kernel`).

    Otherwise every loop begins by comparing addresses, which in rows of twenty numbers takes as
    long as the arithmetic. numba has the flag, but no option for it.
    """

    apart = False

    def define_pipelines(self) -> Any:
        """The passes that numba runs."""
        flags = self.state.flags
        flags.noalias = self.apart
        flags.no_cfunc_wrapper = True  # for calls from C, which nobody makes
        return super().define_pipelines()

    def _library(self, kind: Any) -> Any:
        library = kind(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        library.enable_object_caching()
        return library


class _KernelCompiler(_Compiler):
    """For a function that only compiled code calls."""

    def define_pipelines(self) -> Any:
        """The passes that numba runs, without those that make machine code."""
        self.state.flags.no_cpython_wrapper = self.state.flags.no_compile = True
        self.state.library = self._library(_Translated)
        (passes,) = super().define_pipelines()
        passes.add_pass_after(_MakeKnown, NativeLowering)
        passes.finalize()
        return [passes]


class WholeCompiler(_Compiler):
    """For a function that Python calls."""

    def define_pipelines(self) -> Any:
        """The passes that numba runs."""
        if self.state.library is None:
            self.state.library = self._library(Whole)
        return super().define_pipelines()


class _ApartKernelCompiler(_KernelCompiler):
    apart = True


class _ApartWholeCompiler(WholeCompiler):
    apart = True


class KernelDispatcher(_NumbaDispatcher):  # type: ignore[misc]
    """A kernel. Where Python calls it, it is compiled once more, as a function for Python."""

    def __init__(
        self,
        function: FunctionType,
        options: dict[str, Any],
        *,
        apart: bool,
        cache: Callable[[], Any],
    ) -> None:
        compiler = _ApartKernelCompiler if apart else _KernelCompiler
        options = {**options, "nopython": True}
        super().__init__(function, targetoptions=options, pipeline_class=compiler)
        self._whole, self._make_cache = _ApartWholeCompiler if apart else WholeCompiler, cache

    @cached_property
    def for_python(self) -> Any:
        """What Python calls."""
        made = _NumbaDispatcher(
            self.py_func, targetoptions=self.targetoptions, pipeline_class=self._whole
        )
        made._cache = self._make_cache()
        return made

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Find what a call from compiled code goes to.

        A constant is an argument like others: numba would translate the kernel once more for each.
        """
        named = {name: unliteral(kind) for name, kind in kws.items()}
        return super().get_call_template(tuple(map(unliteral, args)), named)

    def add_overload(self, cres: Any) -> None:
        """Keep a kernel out of reach of Python."""
        self.overloads[tuple(cres.signature.args)] = cres

    def _compile_for_args(self, *args: Any, **kws: Any) -> Any:
        """Find what a call from Python goes to."""
        return self.for_python

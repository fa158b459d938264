"""Linking of compiled code: kernels are translated once, and optimised within their callers.

numba turns every function into a program of its own: it optimises it, makes machine code, and
wraps it so that Python can call it. It then does this again inside each function that calls it.
But only compiled code calls kernels. So a kernel stays as it was translated. An entry point
gathers the kernels that it needs, each once, and optimises all of them together. LLVM decides which
kernels to inline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from types import FunctionType
from typing import Any

from numba.core import config
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import LoweringPass, PassManager, register_pass
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import (
    AnnotateTypes,
    IRLegalization,
    NativeLowering,
    NoPythonBackend,
    NopythonTypeInference,
    PreLowerStripPhis,
)
from numba.core.types import unliteral
from numba.core.untyped_passes import (
    FixupArgs,
    GenericRewrites,
    IRProcessing,
    ReconstructSSA,
    TranslateByteCode,
)

# numba has no types.
_NumbaLibrary: Any = JITCodeLibrary
_NumbaCompiler: Any = Compiler
_NumbaDispatcher: Any = CPUDispatcher
_NumbaPass: Any = LoweringPass
_numba_config: Any = config


class _Translated(_NumbaLibrary):  # type: ignore[misc]
    """The code of one kernel, translated but not optimised; entry points link it in."""

    def _optimize_functions(self, module: Any) -> None:
        """Do nothing: `Whole` optimises it."""

    def add_linking_library(self, library: Any) -> None:
        self._linking_libraries.append(library)

    def finalize(self) -> None:
        self._finalized = True


class Whole(_NumbaLibrary):  # type: ignore[misc]
    """The code of functions that Python calls, and of all kernels under them."""

    def _optimize_functions(self, module: Any) -> None:
        """Do nothing: `_optimize_final_module` optimises everything together."""

    def finalize(self) -> None:
        """Gather the kernels, optimise, and make machine code."""
        self._called_by_python = {f.name for f in self.get_defined_functions()}
        self._linking_libraries = list(_all_under(self, {}))
        super().finalize()

    def _optimize_final_module(self) -> None:
        # Internal linkage hides the kernels from other modules. So LLVM may drop arguments that
        # they do not use, and no code with the same name in another module can replace theirs.
        for function in self.get_defined_functions():
            if function.name not in self._called_by_python and function.linkage.name != "private":
                function.linkage = "internal"
        self._optimise_once()

    def _optimise_once(self) -> None:
        """Optimise at level 2, or less if ``NUMBA_OPT`` says so.

        numba optimises twice: cheaply at first, to bring together the counting of references, then
        at level 3. Kernels count next to no references, and level 2 gives code that is as fast
        (measured), in three quarters of the time.
        """
        level = min(2, int(_numba_config.OPT))
        made = self._codegen._module_pass_manager(opt=level)
        # One object in numba 0.61, two from 0.62 on.
        passes, *builder = made if isinstance(made, tuple) else (made,)
        passes.run(self._final_module, *builder)


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
        key = object()  # numba uses the function that Python calls as the key; any key will do
        state.targetctx.insert_user_function(key, state["cr"].fndesc, [state.library])
        state["cr"] = state["cr"]._replace(cfunc=key)
        return True


class _Compiler(_NumbaCompiler):  # type: ignore[misc]
    """numba's compiler, with a switch ``apart``: arguments do not overlap (`row_kernel`).

    Without it every loop begins by comparing addresses. In rows of twenty numbers that takes as
    long as the arithmetic. numba has the flag, but no option for it.
    """

    apart = False

    def define_pipelines(self) -> Any:
        """The passes that numba runs."""
        flags = self.state.flags
        flags.noalias = self.apart
        flags.no_cfunc_wrapper = True  # nobody calls these functions from C
        return self._pipelines()

    def _pipelines(self) -> Any:
        return super().define_pipelines()

    def _library(self, kind: Any) -> Any:
        library = kind(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        library.enable_object_caching()
        return library


class _KernelCompiler(_Compiler):
    """For a function that only compiled code calls."""

    def _pipelines(self) -> Any:
        """The passes that numba runs, without those that make machine code."""
        self.state.flags.no_cpython_wrapper = self.state.flags.no_compile = True
        self.state.library = self._library(_Translated)
        passes = self._passes()
        passes.add_pass_after(_MakeKnown, NativeLowering)
        passes.finalize()
        return [passes]

    def _passes(self) -> Any:
        (passes,) = super()._pipelines()
        return passes


# Passes for a lean kernel. numba has fourteen more, for closures, array expressions, generators and
# the like; each goes through the whole function (measured: a tenth of the time).
_LEAN_PASSES = (
    TranslateByteCode,
    FixupArgs,
    IRProcessing,
    GenericRewrites,
    ReconstructSSA,
    NopythonTypeInference,
    PreLowerStripPhis,
    IRLegalization,
    AnnotateTypes,
    NativeLowering,
    NoPythonBackend,
)


class _LeanKernelCompiler(_KernelCompiler):
    """For a kernel that consists of loops and arithmetic."""

    def _passes(self) -> Any:
        passes: Any = PassManager("driftbandits_lean")
        for kind in _LEAN_PASSES:
            passes.add_pass(kind, kind._name)
        return passes


class WholeCompiler(_Compiler):
    """For a function that Python calls."""

    def _pipelines(self) -> Any:
        if self.state.library is None:
            self.state.library = self._library(Whole)
        return super()._pipelines()


class _ApartKernelCompiler(_LeanKernelCompiler):
    apart = True


class _ApartWholeCompiler(WholeCompiler):
    apart = True


class KernelDispatcher(_NumbaDispatcher):  # type: ignore[misc]
    """A kernel. If Python calls it, it is compiled once more, as a function for Python."""

    def __init__(
        self,
        function: FunctionType,
        options: dict[str, Any],
        *,
        lean: bool,
        apart: bool,
        cache: Callable[[], Any],
    ) -> None:
        compiler = _LeanKernelCompiler if lean else _KernelCompiler
        if apart:
            compiler = _ApartKernelCompiler
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
        """The code that a call from compiled code runs.

        A constant counts as any value of its type: numba would translate the kernel once more for
        each constant.
        """
        named = {name: unliteral(kind) for name, kind in kws.items()}
        return super().get_call_template(tuple(map(unliteral, args)), named)

    def add_overload(self, cres: Any) -> None:
        """Store the compiled kernel where only compiled code finds it."""
        self.overloads[tuple(cres.signature.args)] = cres

    def _compile_for_args(self, *args: Any, **kws: Any) -> Any:
        """The function that a call from Python runs."""
        return self.for_python

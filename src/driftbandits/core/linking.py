"""Linking of compiled code: kernels are translated once, and optimised within their callers.

numba turns every function into a program of its own: it optimises it, makes machine code, and
wraps it so that Python can call it. It then does this again inside each function that calls it.
But only compiled code calls kernels. So a kernel stays as it was translated. An entry point
gathers the kernels that it needs, each once, and optimises all of them together. LLVM decides which
kernels to inline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum, auto
from functools import cached_property
from types import FunctionType
from typing import Any

from llvmlite import binding as llvm
from numba.core import config, ir
from numba.core.cgutils import alloca_once
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import LoweringPass, PassManager, register_pass
from numba.core.errors import UnsupportedError
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


class _Short(_Translated):
    """The code of a kernel that LLVM must not copy into its callers, nor make faster but longer."""

    def add_ir_module(self, module: Any) -> None:
        for function in module.functions:
            if not (function.is_declaration or "alwaysinline" in function.attributes):
                function.attributes.add("noinline")
                function.attributes.add("optsize")
        super().add_ir_module(module)


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
        """Optimise at level 2, or less if ``NUMBA_OPT`` says so, and without interleaving loops.

        numba optimises twice: cheaply at first, to bring together the counting of references, then
        at level 3. Kernels count next to no references, and level 2 gives code that is as fast
        (measured), in three quarters of the time. Interleaved loops are no faster either: sums keep
        their order, and most rows are short.
        """
        options = llvm.create_pipeline_tuning_options(speed_level=min(2, int(_numba_config.OPT)))
        options.loop_interleaving = False
        builder = llvm.create_pass_builder(self._codegen._tm, options)
        passes = builder.getModulePassManager()
        passes.add_refprune_pass()
        passes.run(self._final_module, builder)


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
        made, target = state["cr"], state.targetctx
        if state.pipeline.kind is not Kind.ANY:
            _refuse_raise(state.func_ir)
            _refuse_other_kernels(state.typemap)
        if state.pipeline.kind is Kind.ANY or target.enable_boundscheck:
            target.insert_user_function(key, made.fndesc, [state.library])
        else:
            call = _quiet_call(made.fndesc, state.library)
            target.insert_func_defn([(call, key, made.fndesc.argtypes)])
        state["cr"] = made._replace(cfunc=key)
        return True


def _refuse_raise(code: Any) -> None:
    for block in code.blocks.values():
        for found in block.find_insts((ir.Raise, ir.StaticRaise, ir.DynamicRaise)):
            raise UnsupportedError("a lean kernel cannot raise", loc=found.loc)


def _refuse_other_kernels(kinds: Any) -> None:
    for kind in kinds.values():
        called = getattr(kind, "dispatcher", None)
        if getattr(called, "kind", None) is Kind.ANY:
            raise UnsupportedError(f"a lean kernel cannot call {called}, which may raise")


def _quiet_call(callee: Any, library: Any) -> Callable[..., Any]:
    """Code that calls a lean kernel, which cannot raise unless numba checks the bounds of indices.

    After every other call, numba looks for an exception, and may return because of it (measured: a
    tenth of the code to compile).
    """

    def call(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        convention = context.call_conv
        function = context.declare_function(builder.module, callee)
        returned = alloca_once(builder, convention.get_return_type(callee.restype).pointee)
        exception = convention._get_excinfo_argument(builder.function)
        packed = convention._get_arg_packer(callee.argtypes).as_arguments(builder, arguments)
        builder.call(function, [returned, exception, *packed])
        return context.get_returned_value(builder, callee.restype, builder.load(returned))

    call.libs = (library,)  # type: ignore[attr-defined]
    return call


class Kind(Enum):
    """What a kernel promises: see the decorators of `driftbandits.core.compiling`."""

    ANY = auto()
    LEAN = auto()
    RARE = auto()
    APART = auto()


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

    kind, code = Kind.ANY, _Translated

    def _pipelines(self) -> Any:
        """The passes that numba runs, without those that make machine code."""
        self.state.flags.no_cpython_wrapper = self.state.flags.no_compile = True
        self.state.library = self._library(self.code)
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

    kind = Kind.LEAN

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
    kind, apart = Kind.APART, True


class _RareKernelCompiler(_LeanKernelCompiler):
    kind, code = Kind.RARE, _Short


class _ApartWholeCompiler(WholeCompiler):
    apart = True


_COMPILERS = {
    made.kind: made
    for made in (_KernelCompiler, _LeanKernelCompiler, _RareKernelCompiler, _ApartKernelCompiler)
}


class KernelDispatcher(_NumbaDispatcher):  # type: ignore[misc]
    """A kernel. If Python calls it, it is compiled once more, as a function for Python."""

    def __init__(
        self,
        function: FunctionType,
        options: dict[str, Any],
        kind: Kind,
        cache: Callable[[], Any],
    ) -> None:
        options = {**options, "nopython": True}
        super().__init__(function, targetoptions=options, pipeline_class=_COMPILERS[kind])
        self.kind = kind
        self._whole = _ApartWholeCompiler if kind is Kind.APART else WholeCompiler
        self._make_cache = cache

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

"""Suites: functions for Python that share kernels, compiled together and cached together.

The first call of one function compiles the whole suite, or loads it from disk. So shared kernels
are translated, optimised and stored once.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import Any, NamedTuple

from numba.core import event
from numba.core.compiler import Flags, compile_extra, compile_result
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher

from .linking import Whole, WholeCompiler
from .shortcuts import shortcuts

_NumbaDispatcher: Any = CPUDispatcher
_NumbaLock: Any = global_compiler_lock


class EntryPoint(_NumbaDispatcher):  # type: ignore[misc]
    """A function that Python calls."""

    def __init__(self, function: FunctionType, options: dict[str, Any]) -> None:
        options = {**options, "nopython": True}
        super().__init__(function, targetoptions=options, pipeline_class=WholeCompiler)

    def compile(self, sig: Any) -> Any:
        """What Python calls for arguments of the types ``sig``."""
        with _NumbaLock, shortcuts(self.targetctx):
            return super().compile(sig)


class Member(EntryPoint):
    """A function of a suite. For argument types other than the suite's it is compiled alone."""

    def __init__(self, function: FunctionType, options: dict[str, Any]) -> None:
        super().__init__(function, options)
        self.suite: Suite | None = None

    def compile(self, sig: Any) -> Any:
        """What Python calls for arguments of the types ``sig``."""
        if self.suite is not None:
            self.suite.provide()
        return super().compile(sig)


class Compiled(NamedTuple):
    """A compiled suite: one library, and one result per function."""

    results: tuple[Any, ...]

    @property
    def codegen(self) -> Any:
        """Where numba's cache looks for it."""
        return self.results[0].codegen


class Suite:
    """The functions ``members`` for the argument types ``signatures``, not compiled yet."""

    def __init__(
        self, members: Sequence[Member], signatures: Sequence[tuple[Any, ...]], cache: Any
    ) -> None:
        self._members, self._signatures, self._cache = tuple(members), tuple(signatures), cache
        self._provided = False
        for member in members:
            member.suite = self

    def provide(self) -> None:
        """Load or compile all functions, unless that was done before."""
        with _NumbaLock:
            if self._provided:
                return
            target = self._members[0].targetctx
            compiled = self._cache.load_overload(self._signatures, target)
            if compiled is None:
                compiled = self._compile()
                self._cache.save_overload(self._signatures, compiled)
            for member, result in zip(self._members, compiled.results, strict=True):
                target.insert_user_function(result.entry_point, result.fndesc, [result.library])
                member.add_overload(result)
            self._provided = True

    def _compile(self) -> Compiled:
        first = self._members[0]
        library = Whole(first.targetctx.codegen(), first.__qualname__)
        library.enable_object_caching()
        announced = {"dispatcher": first, "args": self._signatures[0], "return_type": None}
        with event.trigger_event("numba:compile", data=announced), shortcuts(first.targetctx):
            results = [
                self._translate(member, signature, library)
                for member, signature in zip(self._members, self._signatures, strict=True)
            ]
            return Compiled(tuple(_executable(result) for result in results))

    @staticmethod
    def _translate(member: Member, signature: tuple[Any, ...], library: Any) -> Any:
        flags: Any = Flags()
        member.targetdescr.options.parse_as_flags(flags, member.targetoptions)
        flags.no_compile = True
        return compile_extra(
            member.typingctx,
            member.targetctx,
            member.py_func,
            signature,
            None,
            flags,
            {},
            library=library,
            pipeline_class=WholeCompiler,
        )


def _executable(result: Any) -> Any:
    """``result`` with the function that Python calls; all functions must be translated first."""
    function = result.target_context.get_executable(
        result.library, result.fndesc, result.environment
    )
    return result._replace(entry_point=function)


def reduced(compiled: Compiled) -> Any:
    """``compiled`` in a form that can be pickled: the code once, then the data of each function."""
    functions = []
    for result in compiled.results:
        result.fndesc.typemap = result.fndesc.calltypes = None  # not needed, and large
        functions.append((result.fndesc, result.environment, result.signature))
    return compiled.results[0].library.serialize_using_object_code(), functions


def rebuilt(target: Any, payload: Any) -> Compiled:
    """The inverse of `reduced`, in another process."""
    code, functions = payload
    library = target.codegen().unserialize_library(code)
    results = []
    for fndesc, environment, signature in functions:
        result = compile_result(
            typing_context=target.typing_context,
            target_context=target,
            library=library,
            fndesc=fndesc,
            environment=environment,
            signature=signature,
            objectmode=False,
        )
        results.append(_executable(result))
    return Compiled(tuple(results))

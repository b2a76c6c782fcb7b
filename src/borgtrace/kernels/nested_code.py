"""Compile what a kernel calls as a part of it: into machine code once, and not function by function.

Numba makes machine code of every function, and of every one that it calls, and of each of its own that stands behind
`max` or `np.empty`; the code of all of them is in the caller's as well, and nothing ever runs it elsewhere.  Here these
keep their intermediate code alone.  Measured on ``simulate``, which compiles 60 functions for three that Python calls:
20 s of compiling in place of 26, and the same answers.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import llvmlite.binding as llvm
from numba.core.codegen import JITCodeLibrary, RuntimeLinker
from numba.core.compiler import CompileResult
from numba.core.dispatcher import _FunctionCompiler  # type: ignore[attr-defined]
from numba.core.environment import lookup_environment
from numba.core.runtime import rtsys

_NEVER_CALLED_BY_PYTHON = ("borgtrace.", "numba.")
"""Modules whose functions have no entry for Python where they are compiled for another's sake."""


def compile_as_one(dispatcher: Any) -> None:
    """Let a function that Python calls be compiled with all that it calls as one piece of machine code.

    Parameters
    ----------
    dispatcher
        Numba's, of which nothing was compiled yet.
    """
    earlier = dispatcher._compiler
    dispatcher._compiler = KernelCompiler(
        earlier.py_func,
        earlier.targetdescr,
        earlier.targetoptions,
        earlier.locals,
        earlier.pipeline_class,
    )


class KernelCompiler(_FunctionCompiler):
    """Compiles one function for Python, and with it those that it calls.

    Numba holds its lock of all compilers meanwhile.
    """

    def _compile_core(self, args: Any, return_type: Any) -> CompileResult:
        context = self.targetdescr.target_context
        # Numba's own runtime is machine code that all others call: not a part of the first that needs it.
        rtsys.initialize(context)
        with _without_entries(context):
            result = super()._compile_core(args, return_type)
        library = result.library
        library.make_machine_code()
        # Not that of the context: this may be compiled while another one is, whose argument it is.
        entry = type(context).get_executable(context, library, result.fndesc, result.environment)
        context.insert_user_function(entry, result.fndesc, [library])
        library.set_environments()
        return result._replace(entry_point=entry)


class NestedLibrary(JITCodeLibrary):
    """Intermediate code of a function, without that of those that it calls, until its machine code is asked for."""

    _has_machine_code = False

    def add_llvm_module(self, module: Any) -> None:
        """Add intermediate code, simplified function by function."""
        self._optimize_functions(module)
        self._final_module.link_in(module)

    def add_linking_library(self, library: Any) -> None:
        """Note a library that this one calls."""
        super().add_linking_library(library)
        self._reload_init.update(library._reload_init)

    def finalize(self) -> None:
        """End the adding of code."""
        self._raise_if_finalized()
        self._finalized = True
        # What calls itself does so by an address, which its machine code has to have.
        names = [variable.name for variable in self._final_module.global_variables]
        if any(name.startswith(RuntimeLinker.PREFIX) for name in names):
            self.make_machine_code()

    def get_pointer_to_function(self, name: str) -> int:
        """Return the address of a function, whose machine code is made first."""
        self.make_machine_code()
        return super().get_pointer_to_function(name)

    def make_machine_code(self) -> None:
        """Link what is called from here, optimize all of it together, and make machine code of it, once."""
        if self._has_machine_code:
            return
        self._has_machine_code = True
        self._ensure_finalized()
        self._codegen._check_llvm_bugs()
        self._shared_module = _linked_once(self._final_module.clone())
        for library in _all_called(self):
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._optimize_final_module()
        self._final_module.verify()
        self._finalize_final_module()

    def set_environments(self) -> None:
        """Put the Python objects of all functions in here where their machine code looks for them."""
        for variable in self._final_module.global_variables:
            environment = lookup_environment(variable.name)
            if environment is not None:
                self.codegen.set_env(variable.name, environment)

    def _get_module_for_linking(self) -> Any:
        self._ensure_finalized()
        if self._shared_module is None:
            # It is for others alone, and need not be copied before it is marked.
            self._shared_module = _linked_once(self._final_module)
        return self._shared_module


@contextmanager
def _without_entries(context: Any) -> Iterator[None]:
    """Let functions be compiled into nested libraries, without an entry for Python, while the block runs."""
    codegen = context.codegen()
    get_executable = context.get_executable
    if "_library_class" in vars(codegen):
        # Another one is being compiled, for whose sake this is.
        yield
        return

    def entry_of(library: Any, description: Any, environment: Any) -> Any:
        if description.modname.startswith(_NEVER_CALLED_BY_PYTHON):
            # Numba wants a built-in function, of each another: this refuses any arguments.
            return {}.__getitem__
        return get_executable(library, description, environment)

    # On the instances: both are methods or attributes of their classes.
    context.get_executable = entry_of
    codegen._library_class = NestedLibrary
    try:
        yield
    finally:
        del codegen._library_class
        del context.get_executable


def _all_called(library: Any) -> list[Any]:
    """Return the libraries that one calls, and those that they call where their code does not hold it already."""
    called: dict[Any, None] = {}
    pending = list(library._linking_libraries)
    while pending:
        next_one = pending.pop()
        if next_one is library or next_one in called:
            continue
        called[next_one] = None
        if isinstance(next_one, NestedLibrary):
            pending += next_one._linking_libraries
    return list(called)


def _linked_once(module: Any) -> Any:
    """Let several libraries bring along the functions of a module, of which one is taken."""
    for function in module.functions:
        if not function.is_declaration and function.linkage == llvm.Linkage.external:
            function.linkage = "linkonce_odr"
    return module

"""Functions that are known, and why they cannot be checked. They are errors only if an execution comes to them."""

from __future__ import annotations

from collections.abc import Mapping

from dekker.frontends.c.runtime.interface import External, ExternalCall
from dekker.ir.instructions import Refuse

_INPUT = "the program reads input, which is not modelled", "take the value from `__VERIFIER_nondet_int()` instead"
_FILES = "files are not modelled", "leave the call out with the preprocessor"
_JUMPS = "jumps out of functions are not modelled", "return an error code instead"
_SIGNALS = "signals are not modelled", "let a thread call the handler instead"
_CANCEL = "threads are not cancelled from outside", "let the thread check a flag that another one sets"
_PROCESSES = "a program is one process", "use threads instead"
_FORMAT = "texts are not put together this way", "use `snprintf` with the values themselves"
_MEMORY = "memory of the system is not modelled", "use `malloc`"

_REASONS: Mapping[tuple[str, str], str] = {
    _INPUT: "scanf fscanf vscanf __isoc99_scanf __isoc99_fscanf __isoc23_scanf __isoc23_fscanf getchar getc fgetc "
    "fgets gets getline getdelim ungetc sscanf vsscanf __isoc99_sscanf __isoc23_sscanf",
    _FILES: "fopen freopen fdopen fclose fread fwrite fseek ftell rewind open openat close read write pread pwrite "
    "lseek unlink remove rename opendir readdir stat fstat ioctl fcntl pipe select poll epoll_wait socket connect bind "
    "listen accept send recv",
    _JUMPS: "setjmp _setjmp __sigsetjmp sigsetjmp longjmp _longjmp siglongjmp __longjmp_chk getcontext setcontext "
    "makecontext swapcontext",
    _SIGNALS: "signal sigaction raise kill pthread_kill pthread_sigmask sigprocmask sigwait sigemptyset sigaddset "
    "alarm setitimer timer_create",
    _CANCEL: "pthread_cancel pthread_testcancel pthread_setcancelstate pthread_setcanceltype __pthread_register_cancel "
    "__pthread_unregister_cancel __pthread_unwind_next",
    _PROCESSES: "fork vfork execv execve execvp execl execlp system popen wait waitpid pthread_atfork syscall",
    _FORMAT: "vsprintf vsnprintf asprintf vasprintf",
    _MEMORY: "mmap munmap mprotect brk sbrk shm_open shmget shmat",
}


def _refuse(reason: str, hint: str) -> External:
    def lower(call: ExternalCall) -> None:
        call.emitter.emit(Refuse(f"`{call.name}` is not supported: {reason}; {hint}"))

    return External(lower, returns=False)


REFUSED: Mapping[str, External] = {
    name: _refuse(*reason) for reason, names in _REASONS.items() for name in names.split()
}

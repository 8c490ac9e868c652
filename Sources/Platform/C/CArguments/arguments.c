#define _GNU_SOURCE
#include "CArguments.h"
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/// Swift reads a program's arguments from /proc. Without /proc a program sees no arguments, not even its own name.
///
/// This runs before any thread is started: the threads of libdispatch trap without /proc, sometimes before main() has begun.
__attribute__((constructor)) static void demand_arguments(void) {
    if (access("/proc/self/cmdline", R_OK) == 0) return;
    dprintf(
        STDERR_FILENO,
        "%s: its arguments cannot be seen, because /proc/self/cmdline cannot be read: mount /proc (mount -t proc proc "
        "/proc), and let the program see it (ProcSubset=, hidepid=)\n",
        program_invocation_short_name);
    _exit(71);
}

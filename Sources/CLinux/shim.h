// Headers of the Linux C library that Swift's Glibc module leaves out.
#include <malloc.h>
#include <sys/timex.h>

// sys/mman.h and stdio.h show these to programs with _GNU_SOURCE alone.
int memfd_create(const char *name, unsigned int flags);
int renameat2(int old_folder, const char *old_path, int new_folder, const char *new_path, unsigned int flags);

/// Two files get each other's name, at once or not at all; -1 with errno.
static inline int exchange_files(const char *one, const char *other) {
    const int here = -100;            // AT_FDCWD: fcntl.h has it, and struct stat, which Swift would look for in this module then.
    const unsigned int exchange = 2;  // RENAME_EXCHANGE
    return renameat2(here, one, here, other, exchange);
}

/// Bytes that this process has asked malloc for and not freed yet.
static inline size_t allocated_bytes(void) {
    struct mallinfo2 held = mallinfo2();
    return held.uordblks + held.hblkhd;
}

// Declared here, for the headers that declare it have types that Swift would look for in this module then.
long syscall(long number, ...);

/// A process to take files of, as a file; -1 with errno.
static inline int process_handle(int process) { return (int)syscall(434 /* pidfd_open */, process, 0); }

/// An own number for a file that another process has open; -1 with errno.
static inline int taken_file(int process, int number) { return (int)syscall(438 /* pidfd_getfd */, process, number, 0); }

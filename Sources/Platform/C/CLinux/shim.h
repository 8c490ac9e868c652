// Headers of the Linux C library that Swift's Glibc module omits.
#include <malloc.h>
#include <sys/timex.h>

// sys/mman.h and stdio.h declare these only with _GNU_SOURCE.
int memfd_create(const char *name, unsigned int flags);
int renameat2(int old_folder, const char *old_path, int new_folder, const char *new_path, unsigned int flags);

/// Exchanges the names of two files atomically; -1 with errno.
static inline int exchange_files(const char *one, const char *other) {
    const int here = -100;            // AT_FDCWD: including fcntl.h would make Swift look for its struct stat in this module.
    const unsigned int exchange = 2;  // RENAME_EXCHANGE
    return renameat2(here, one, here, other, exchange);
}

/// The number of bytes that this process has allocated with malloc and not freed.
static inline size_t allocated_bytes(void) {
    struct mallinfo2 held = mallinfo2();
    return held.uordblks + held.hblkhd;
}

// Declared here, because the types in its header would make Swift look for them in this module.
long syscall(long number, ...);

/// A descriptor for a process whose files are to be taken; -1 with errno.
static inline int process_handle(int process) { return (int)syscall(434 /* pidfd_open */, process, 0); }

/// A descriptor for a file that another process has open; -1 with errno.
static inline int taken_file(int process, int number) { return (int)syscall(438 /* pidfd_getfd */, process, number, 0); }

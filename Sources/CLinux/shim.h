// Headers of the Linux C library that Swift's Glibc module leaves out.
#include <fcntl.h>
#include <malloc.h>
#include <sys/timex.h>

// stdio.h shows it to programs with _GNU_SOURCE alone.
int renameat2(int old_folder, const char *old_path, int new_folder, const char *new_path, unsigned int flags);

/// Two files get each other's name, at once or not at all; -1 with errno.
static inline int exchange_files(const char *one, const char *other) {
    const unsigned int exchange = 2;  // RENAME_EXCHANGE
    return renameat2(AT_FDCWD, one, AT_FDCWD, other, exchange);
}

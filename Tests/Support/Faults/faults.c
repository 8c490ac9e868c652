// Faults of disk and clock for one program (LD_PRELOAD), as the file $HUB_FAULTS says at that moment; without the file all is well.
//
//   read eio hub.sqlite       each read of a file of that name fails with EIO; also write and sync
//   sync hang hub.sqlite-wal  does not return while the line stands there
//   end 37                    the program is killed at the 37th write or sync of its files, before it
//   clock 31536000            CLOCK_REALTIME shows so many seconds more
//
// The file is replaced in one step (rename), and read anew for every call.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

// By system calls: what is called here must not come back to the functions below.
static int told(char *text, size_t room) {
    const char *path = getenv("HUB_FAULTS");
    if (!path) return 0;
    int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    long count = syscall(SYS_read, file, text, room - 1);
    syscall(SYS_close, file);
    text[count > 0 ? count : 0] = 0;
    return count > 0;
}

// Which fault a line names for this operation on this file: 'e', 'h', or 0.
static char fault(const char *operation, int file) {
    char text[1024], link[32], path[4096];
    int before = errno;
    char found = 0;
    if (told(text, sizeof text)) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", file);
        long length = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
        path[length > 0 ? length : 0] = 0;
        const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
        char *rest = text, *line;
        while (!found && (line = strsep(&rest, "\n"))) {
            char verb[16], kind[16], meant[256];
            if (sscanf(line, "%15s %15s %255s", verb, kind, meant) == 3 && !strcmp(verb, operation) && !strcmp(meant, name))
                found = kind[0];
        }
    }
    errno = before;
    return found;
}

// Ends the process at the write or sync that the line `end COUNT` names, counted from its start.
static void count(void) {
    static long calls;
    char text[1024], *line;
    long now = __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST), last;
    int before = errno;
    if (told(text, sizeof text) && (line = strstr(text, "end ")) && sscanf(line, "end %ld", &last) == 1 && now >= last) {
        syscall(SYS_kill, (long)syscall(SYS_getpid), 9L);
        for (;;) {}
    }
    errno = before;
}

static int fails(const char *operation, int file) {
    char kind;
    if (*operation != 'r' && file > 2) count();
    while ((kind = fault(operation, file)) == 'h') {
        struct timespec pause = {0, 100000000};
        syscall(SYS_nanosleep, &pause, NULL);
    }
    if (kind == 'e') errno = EIO;
    return kind == 'e';
}

#define REAL(name) \
    static __typeof__(name) *real; \
    if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

ssize_t read(int file, void *bytes, size_t count) { REAL(read); return fails("read", file) ? -1 : real(file, bytes, count); }
ssize_t pread(int file, void *bytes, size_t count, off_t at) { REAL(pread); return fails("read", file) ? -1 : real(file, bytes, count, at); }
ssize_t pread64(int file, void *bytes, size_t count, off64_t at) { REAL(pread64); return fails("read", file) ? -1 : real(file, bytes, count, at); }
ssize_t write(int file, const void *bytes, size_t count) { REAL(write); return fails("write", file) ? -1 : real(file, bytes, count); }
ssize_t pwrite(int file, const void *bytes, size_t count, off_t at) { REAL(pwrite); return fails("write", file) ? -1 : real(file, bytes, count, at); }
ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t at) { REAL(pwrite64); return fails("write", file) ? -1 : real(file, bytes, count, at); }
int fsync(int file) { REAL(fsync); return fails("sync", file) ? -1 : real(file); }
int fdatasync(int file) { REAL(fdatasync); return fails("sync", file) ? -1 : real(file); }

int clock_gettime(clockid_t clock, struct timespec *time) {
    REAL(clock_gettime);
    int result = real(clock, time);
    char text[1024];
    long ahead;
    int before = errno;
    if (result == 0 && clock == CLOCK_REALTIME && told(text, sizeof text) && sscanf(text, "clock %ld", &ahead) == 1)
        time->tv_sec += ahead;
    errno = before;
    return result;
}

// Injects faults of disk and clock into one program (LD_PRELOAD), as the lines of the file $HUB_FAULTS say. Without that file there are no faults.
//
//   read eio hub.sqlite           each read of a file with that name fails with EIO; also write and sync
//   write full hub.sqlite-wal     fails with ENOSPC; `readonly` with EROFS
//   write short hub.sqlite-wal    writes one byte less than requested
//   sync hang hub.sqlite-wal      does not return until the line is removed
//   sync slow hub.sqlite-wal 40   takes 40 ms longer
//   end 37                        the program is killed just before the 37th write or sync of its files
//   clock 31536000                CLOCK_REALTIME is that number of seconds ahead
//   synced hub.sqlite-wal         $HUB_FAULTS.synced gets the length of a file with that name at its last flush
//   boot 7e2f                     /proc/sys/kernel/random/boot_id contains this, as if the machine had been restarted
//
// The file is replaced in one step (rename). Each intercepted call reads it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

// Reads $HUB_FAULTS. It uses system calls only, because other calls could come back to the functions below.
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

// Returns the rest of the line that begins with a word, or NULL.
static const char *line_of(char *text, const char *word) {
    size_t length = strlen(word);
    char *rest = text, *line;
    while ((line = strsep(&rest, "\n")))
        if (!strncmp(line, word, length) && line[length] == ' ') return line + length + 1;
    return NULL;
}

static void pause_for(long milliseconds) {
    struct timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    syscall(SYS_nanosleep, &pause, NULL);
}

// Returns the file's name; `path` gets its whole path.
static const char *name_of(int file, char path[4096]) {
    char link[32];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    long length = syscall(SYS_readlinkat, AT_FDCWD, link, path, 4095);
    path[length > 0 ? length : 0] = 0;
    return strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
}

// Returns whether a line names a fault for this operation on this file; `kind` gets the fault.
static int fault(const char *operation, int file, char kind[16], long *milliseconds) {
    char text[1024], path[4096];
    int before = errno, found = 0;
    if (told(text, sizeof text)) {
        const char *name = name_of(file, path);
        char *rest = text, *line;
        while (!found && (line = strsep(&rest, "\n"))) {
            char verb[16], meant[256];
            *milliseconds = 0;
            if (sscanf(line, "%15s %15s %255s %ld", verb, kind, meant, milliseconds) >= 3 && !strcmp(verb, operation))
                found = !strcmp(meant, name);
        }
    }
    errno = before;
    return found;
}

// Ends the process at the write or sync whose number is in the line `end COUNT`. Calls are counted from the start of the process.
static void count(void) {
    static long calls;
    char text[1024];
    long now = __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
    int before = errno;
    const char *last = told(text, sizeof text) ? line_of(text, "end") : NULL;
    if (last && now >= atol(last)) {
        syscall(SYS_kill, (long)syscall(SYS_getpid), 9L);
        for (;;) {}
    }
    errno = before;
}

static int fails(const char *operation, int file) {
    char kind[16];
    long milliseconds;
    if (*operation != 'r' && file > 2) count();
    while (fault(operation, file, kind, &milliseconds)) {
        if (!strcmp(kind, "slow")) {
            pause_for(milliseconds);
            return 0;
        }
        errno = !strcmp(kind, "eio") ? EIO : !strcmp(kind, "full") ? ENOSPC : !strcmp(kind, "readonly") ? EROFS : 0;
        if (errno) return 1;
        if (strcmp(kind, "hang")) return 0;
        pause_for(100);
    }
    return 0;
}

// Returns how many bytes of a write are passed on.
static size_t share(int file, size_t count) {
    char kind[16];
    long milliseconds;
    return count > 1 && fault("write", file, kind, &milliseconds) && !strcmp(kind, "short") ? count - 1 : count;
}

#define REAL(name) \
    static __typeof__(name) *real; \
    if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

ssize_t read(int file, void *bytes, size_t count) { REAL(read); return fails("read", file) ? -1 : real(file, bytes, count); }
ssize_t pread(int file, void *bytes, size_t count, off_t at) { REAL(pread); return fails("read", file) ? -1 : real(file, bytes, count, at); }
ssize_t pread64(int file, void *bytes, size_t count, off64_t at) { REAL(pread64); return fails("read", file) ? -1 : real(file, bytes, count, at); }
ssize_t write(int file, const void *bytes, size_t count) { REAL(write); return fails("write", file) ? -1 : real(file, bytes, share(file, count)); }
ssize_t pwrite(int file, const void *bytes, size_t count, off_t at) { REAL(pwrite); return fails("write", file) ? -1 : real(file, bytes, share(file, count), at); }
ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t at) { REAL(pwrite64); return fails("write", file) ? -1 : real(file, bytes, share(file, count), at); }

// Notes the file's length at a successful flush: a power cut must leave at least this part of it.
static int flushed(int result, int file) {
    char text[1024], path[4096];
    struct stat status;
    int before = errno;
    if (result == 0 && told(text, sizeof text)) {
        const char *meant = line_of(text, "synced");
        if (meant && !strcmp(meant, name_of(file, path)) && fstat(file, &status) == 0) {
            char note[4096];
            snprintf(note, sizeof note, "%s.synced", getenv("HUB_FAULTS"));
            int to = (int)syscall(SYS_openat, AT_FDCWD, note, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
            int length = snprintf(text, sizeof text, "%lld\n", (long long)status.st_size);
            syscall(SYS_write, to, text, length);
            syscall(SYS_close, to);
        }
    }
    errno = before;
    return result;
}

int fsync(int file) { REAL(fsync); return fails("sync", file) ? -1 : flushed(real(file), file); }
int fdatasync(int file) { REAL(fdatasync); return fails("sync", file) ? -1 : flushed(real(file), file); }

// Opens a file with the boot identity of the line `boot`. Returns -1 for other paths, or if there is no such line.
static int boot(const char *path) {
    char text[1024];
    int before = errno, file = -1;
    if (!strcmp(path, "/proc/sys/kernel/random/boot_id") && told(text, sizeof text)) {
        const char *word = line_of(text, "boot");
        if (word && (file = memfd_create("boot_id", MFD_CLOEXEC)) >= 0) {
            syscall(SYS_write, file, word, strlen(word));
            lseek(file, 0, SEEK_SET);
        }
    }
    errno = before;
    return file;
}

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        REAL(name); \
        va_list more; \
        va_start(more, flags); \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0; \
        va_end(more); \
        int file = boot(path); \
        return file >= 0 ? file : real(path, flags, mode); \
    }
OPEN(open)
OPEN(open64)

static long ahead(void) {
    char text[1024];
    int before = errno;
    const char *seconds = told(text, sizeof text) ? line_of(text, "clock") : NULL;
    errno = before;
    return seconds ? atol(seconds) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    REAL(clock_gettime);
    int result = real(clock, time);
    if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec += ahead();
    return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    REAL(gettimeofday);
    int result = real(time, zone);
    if (result == 0) time->tv_sec += ahead();
    return result;
}

time_t time(time_t *place) {
    REAL(time);
    time_t now = real(NULL) + ahead();
    if (place) *place = now;
    return now;
}

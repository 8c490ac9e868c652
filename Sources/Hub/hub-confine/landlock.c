// Landlock: limits which files, ports and signals a process and its descendants may use, also towards processes of the same user. Older
// kernels support less of it; the report lists the missing parts.
#define _GNU_SOURCE
#include "confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// Bits by version of the interface (uapi/linux/landlock.h); the headers of the distribution may be older than its kernel.
#define FS(number) (UINT64_C(1) << (number))
#define FS_EXECUTE FS(0)
#define FS_WRITE_FILE FS(1)
#define FS_READ_FILE FS(2)
#define FS_READ_DIR FS(3)
#define FS_REFER FS(13)       // 2
#define FS_TRUNCATE FS(14)    // 3
#define FS_IOCTL_DEV FS(15)   // 5
#define FS_OF_VERSION_1 (FS(13) - 1)
#define NET_BIND_TCP FS(0)    // 4
#define NET_CONNECT_TCP FS(1)
#define SCOPE_ABSTRACT_SOCKETS FS(0)  // 6
#define SCOPE_SIGNALS FS(1)

static const uint64_t of_files = FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV;
static const uint64_t reading = FS_READ_FILE | FS_READ_DIR;

struct rules { uint64_t files, ports, scopes; };

static void allow(int rules, const char *path, uint64_t rights) {
    // With O_PATH a device is not opened, and a socket can be named too.
    int file = open(path, O_PATH | O_CLOEXEC);
    if (file < 0) return;
    struct stat status;
    if (fstat(file, &status) == 0 && !S_ISDIR(status.st_mode)) rights &= of_files;
    struct landlock_path_beneath_attr rule = {.allowed_access = rights, .parent_fd = file};
    if (rights) syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    close(file);
}

// Whether `path` is the folder or lies below it.
static bool holds(const char *folder, const char *path) {
    size_t length = strlen(folder);
    return strncmp(folder, path, length) == 0 && (path[length] == 0 || path[length] == '/' || length == 1);
}

// The first hidden path below a granted folder. Only mounts can hide a path: without them the whole folder is withheld.
static const char *hidden_below(const struct policy *policy, size_t index) {
    char *folder = realpath(policy->grants[index].path, NULL);
    const char *found = NULL;
    for (size_t other = index + 1; folder && !found && other < policy->count; other++) {
        if (policy->grants[other].access != HIDE) continue;
        char *path = realpath(policy->grants[other].path, NULL);
        if (path && holds(folder, path)) found = policy->grants[other].path;
        free(path);
    }
    free(folder);
    return found;
}

void restrict_files(const struct policy *policy, struct report *report) {
    const bool has_own_root = policy->has_own_root;
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 1) {
        int error = errno;
        // With its own root the plugin can open no other files anyway.
        if (!has_own_root) note(report->files, "no Landlock", error);
        if (!policy->has_own_processes) note(report->processes, "no Landlock", error);
        return;
    }
    struct rules handled = {
        .files = FS_OF_VERSION_1 | (version >= 2 ? FS_REFER : 0) | (version >= 3 ? FS_TRUNCATE : 0)
            | (version >= 5 ? FS_IOCTL_DEV : 0),
        .scopes = version >= 6 ? SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS : 0,
    };
    if (version >= 4) {
        if (!policy->network) handled.ports |= NET_CONNECT_TCP;
        if (!policy->listening) handled.ports |= NET_BIND_TCP;
    }
    if (version < 6 && !policy->has_own_processes) note(report->processes, "signals need Landlock 6", 0);
    size_t size = version >= 6 ? 24 : version >= 4 ? 16 : 8;
    int rules = (int)syscall(SYS_landlock_create_ruleset, &handled, size, 0);
    if (rules < 0) {
        note(report->files, "Landlock", errno);
        return;
    }
    const uint64_t device = FS_READ_FILE | FS_WRITE_FILE;
    allow(rules, "/dev/null", device);
    allow(rules, "/dev/zero", device);
    allow(rules, "/dev/full", device);
    allow(rules, "/dev/random", FS_READ_FILE);
    allow(rules, "/dev/urandom", FS_READ_FILE);
    // The plugin's own /proc lists its own processes. The outer /proc is not listed, but the plugin may read the files that every user may:
    // libdispatch looks up its own process there by number and ends if it cannot. Landlock protects memory and environment of other processes.
    allow(rules, "/proc", policy->has_own_processes ? reading : FS_READ_FILE);
    allow(rules, "/proc/self", reading);
    allow(rules, "/proc/sys", reading);
    if (has_own_root) allow(rules, "/dev/shm", handled.files & ~(FS_EXECUTE | FS_IOCTL_DEV));
    for (size_t index = 0; index < policy->count; index++) {
        const struct grant *grant = &policy->grants[index];
        if (grant->access == HIDE || grant->access == SOCKET) continue;
        const char *hidden = has_own_root ? NULL : hidden_below(policy, index);
        if (hidden) {
            fprintf(stderr, "hub-confine: withheld: %s, because %s lies in it and cannot be hidden\n", grant->path, hidden);
            continue;
        }
        uint64_t rights = grant->access == EXECUTE ? reading | FS_EXECUTE
            : grant->access == READ                ? reading
                                                   : handled.files & ~FS_EXECUTE;
        allow(rules, grant->path, rights & handled.files);
    }
    if (syscall(SYS_landlock_restrict_self, rules, 0)) note(report->files, "Landlock", errno);
    close(rules);
}

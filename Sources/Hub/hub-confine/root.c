// A root file system that contains only the granted paths, made of mounts in a mount namespace that no process outside sees.
//
// It keeps a plugin away from Unix sockets (the owner's socket, the session bus): connect(2) needs only access to the socket file.
#define _GNU_SOURCE
#include "confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// <sys/mount.h> and <linux/mount.h> cannot both be included with older C libraries.
int mount(const char *, const char *, const char *, unsigned long, const void *);
int umount2(const char *, int);
#define DETACH 2

static int open_tree_at(const char *path) {
    return (int)syscall(SYS_open_tree, AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
}

// Takes a detached copy of the mount at the path; returns false if that fails although the path exists.
static bool take(struct grant *grant) {
    struct stat status;
    if (grant->access == HIDE) return true;
    if (stat(grant->path, &status)) {
        char folder[4096];
        snprintf(folder, sizeof folder, "%s", grant->path);
        *strrchr(folder, '/') = 0;
        grant->is_missing = folder[0] && stat(folder, &status) == 0 && S_ISDIR(status.st_mode);
        return true;
    }
    grant->is_folder = S_ISDIR(status.st_mode);
    grant->is_device = S_ISCHR(status.st_mode);
    grant->tree = open_tree_at(grant->path);
    if (grant->tree < 0) return errno == EACCES;
    struct mount_attr set = {.attr_set = MOUNT_ATTR_NOSUID};
    if (grant->access == EXECUTE || grant->access == READ) set.attr_set |= MOUNT_ATTR_RDONLY;
    if (!grant->is_device) set.attr_set |= MOUNT_ATTR_NODEV;
    if (grant->access == WRITE) set.attr_set |= MOUNT_ATTR_NOEXEC;
    // A device can be written through its node even if the mount is read-only.
    if (syscall(SYS_mount_setattr, grant->tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &set, sizeof set) == 0) return true;
    return false;
}

// Makes a file or folder to mount on, and the folders above it.
static bool make_place(const char *path, bool is_folder) {
    char copy[4096];
    if (snprintf(copy, sizeof copy, "%s", path) >= (int)sizeof copy) return false;
    for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (mkdir(copy, 0755) && errno != EEXIST) return false;
        *slash = '/';
    }
    if (is_folder) return mkdir(copy, 0755) == 0 || errno == EEXIST;
    int file = open(copy, O_CREAT | O_CLOEXEC | O_RDONLY | O_NOFOLLOW, 0644);
    if (file < 0) return errno == EEXIST || errno == ENXIO || errno == EACCES || errno == EROFS || errno == ELOOP;
    close(file);
    return true;
}

static bool attach(int tree, const char *path, bool is_folder) {
    if (!make_place(path, is_folder)) return false;
    return syscall(SYS_move_mount, tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) == 0;
}

// Covers a path of the hub's own that lies in a granted folder.
static bool hide(struct grant *grant) {
    struct stat status;
    if (stat(grant->path, &status)) return true;
    grant->is_covered = S_ISDIR(status.st_mode);
    if (grant->is_covered)
        return mount("hub-confine", grant->path, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=755,size=64k") == 0;
    int nothing = open_tree_at("/dev/null");
    return nothing >= 0 && syscall(SYS_move_mount, nothing, "", AT_FDCWD, grant->path, MOVE_MOUNT_F_EMPTY_PATH) == 0;
}

void enter_own_root(struct policy *policy, struct report *report) {
    const char *step = "mount namespace";
    policy->has_own_root = true;
    // Later mounts of others may appear below the granted paths; mounts made here do not leave this namespace.
    if (mount("", "/", NULL, MS_REC | MS_SLAVE, NULL)) goto failed;
    for (size_t index = 0; index < policy->count; index++) {
        step = policy->grants[index].path;
        if (!take(&policy->grants[index])) goto failed;
    }
    int temporary = -1;
    if (policy->temporary) {
        struct grant own = {.access = WRITE, .path = policy->temporary, .tree = -1};
        step = own.path;
        if (!take(&own)) goto failed;
        temporary = own.tree;
    }
    static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"};
    int nodes[5];
    for (int index = 0; index < 5; index++) nodes[index] = open_tree_at(devices[index]);

    step = "new root";
    if (mount("hub-confine", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=256k")) goto failed;
    umask(0);
    // Before the old root goes: the kernel mounts a /proc only while a complete one is visible.
    if (chdir("/tmp") || mkdir("proc", 0555)) goto failed;
    if (policy->has_own_processes && mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL)) _exit(NO_PROC);
    if (!policy->has_own_processes
        && syscall(SYS_move_mount, open_tree_at("/proc"), "", AT_FDCWD, "proc", MOVE_MOUNT_F_EMPTY_PATH))
        goto failed;
    if (syscall(SYS_pivot_root, ".", ".") || umount2(".", DETACH) || chdir("/")) goto failed;

    for (int index = 0; index < 5; index++)
        if (nodes[index] >= 0 && !attach(nodes[index], devices[index], false)) goto failed;
    const char *const links[][2] = {
        {"/proc/self/fd", "/dev/fd"}, {"/proc/self/fd/0", "/dev/stdin"}, {"/proc/self/fd/1", "/dev/stdout"},
        {"/proc/self/fd/2", "/dev/stderr"}};
    for (int index = 0; index < 4; index++)
        if (symlink(links[index][0], links[index][1])) goto failed;
    if (mkdir("/dev/shm", 0755)
        || mount("hub-confine", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=1777,size=16m"))
        goto failed;
    step = "/tmp";
    if (temporary >= 0 && !attach(temporary, "/tmp", true)) goto failed;
    for (size_t index = 0; index < policy->count; index++) {
        struct grant *grant = &policy->grants[index];
        step = grant->path;
        if (grant->is_missing) {
            char folder[4096];
            snprintf(folder, sizeof folder, "%s", grant->path);
            *strrchr(folder, '/') = 0;
            make_place(folder, true);
            continue;
        }
        if (grant->access == HIDE ? !hide(grant)
                                  : grant->tree >= 0 && !attach(grant->tree, grant->path, grant->is_folder))
            goto failed;
    }
    struct mount_attr set = {.attr_set = MOUNT_ATTR_RDONLY};
    // Set read-only now and not earlier: the plugin's own places had to be made in the folders that cover others.
    for (size_t index = 0; index < policy->count; index++)
        if (policy->grants[index].is_covered) syscall(SYS_mount_setattr, AT_FDCWD, policy->grants[index].path, 0, &set, sizeof set);
    step = "new root";
    if (syscall(SYS_mount_setattr, AT_FDCWD, "/", 0, &set, sizeof set)) goto failed;
    umask(0077);
    return;

failed:
    note(report->sockets, step, errno);
    _exit(NO_ROOT);
}

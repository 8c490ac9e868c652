// What the parts of hub-confine share. Docs/Security.md says what it protects; Docs/Protocol.md 13.7 what a plugin sees of it.
#pragma once
#include <stdbool.h>
#include <stddef.h>

// What a plugin gets of one path, in the order of the command line.
enum access { EXECUTE, READ, WRITE, SOCKET, HIDE };

struct grant {
    enum access access;
    const char *path;
    int tree;         // a detached copy of the mount, or -1: nothing is there
    bool is_folder;
    bool is_device;
    bool is_covered;  // By an empty folder of our own.
    bool is_missing;  // Its folder is there all the same: a plugin may look for it.
};

struct policy {
    struct grant *grants;
    size_t count;
    const char *temporary;  // what the plugin sees at /tmp too
    bool network, listening, bluetooth;
    bool has_own_root, has_own_processes;
};

// What the kernel would not do, by subject, for the line that the hub reads. Lives in memory that parent and child share.
struct report {
    char files[160], sockets[160], processes[160], network[160], calls[160];
};

// Codes with which the first process of new namespaces ends, having started nothing, where another way has to be taken.
enum { NO_ROOT = 124, NO_PROC = 123 };

// Each says in the report what it could not do.

// A root of its own with nothing in it but the grants, or this process ends. Only in a new user and mount namespace, and in one of processes
// where it is to have its own.
void enter_own_root(struct policy *policy, struct report *report);
// Landlock: files by grant, TCP by grant, signals and abstract sockets within.
void restrict_files(const struct policy *policy, struct report *report);
// No new privileges, no capabilities, no core dump, bounds that cannot be raised.
void drop_privileges(bool has_user_namespace);
// The seccomp filter; the last of all.
void restrict_calls(const struct policy *policy, struct report *report);

// Ends this process with the hub's own code and a line on stderr that begins with "hub-confine: cannot".
_Noreturn void fail(const char *what, const char *which, int error);
// Writes why into a subject of the report, unless something stands there.
void note(char subject[static 160], const char *what, int error);

// Declarations shared by the parts of hub-confine. Docs/Security.md says what it protects; Docs/Protocol.md 13.7 what a plugin sees of it.
#pragma once
#include <stdbool.h>
#include <stddef.h>

// The access that a plugin gets to one path, in the order of the command line.
enum access { EXECUTE, READ, WRITE, SOCKET, HIDE };

struct grant {
    enum access access;
    const char *path;
    int tree;         // a detached copy of the mount, or -1 if nothing is there
    bool is_folder;
    bool is_device;
    bool is_covered;  // by an empty folder of our own
    bool is_missing;  // its folder exists nevertheless: a plugin may look for the path
};

struct policy {
    struct grant *grants;
    size_t count;
    const char *temporary;  // the plugin sees it at /tmp too
    bool network, listening, bluetooth;
    bool has_own_root, has_own_processes;
};

// The restrictions that the kernel refused, by subject, for the line that the hub reads. Lives in memory that parent and child share.
struct report {
    char files[160], sockets[160], processes[160], network[160], calls[160];
};

// Exit codes of the first process in new namespaces if it started nothing: the caller tries another way.
enum { NO_ROOT = 124, NO_PROC = 123 };

// Each of these functions reports the restrictions that it could not make.

// Enters a new root with nothing in it but the grants, or ends this process. Call it only in a new user and mount namespace, and in a new
// process namespace if `has_own_processes` is set.
void enter_own_root(struct policy *policy, struct report *report);
// Landlock: files by grant, TCP by grant, signals and abstract sockets within.
void restrict_files(const struct policy *policy, struct report *report);
// Sets no new privileges, no capabilities, no core dump, and limits that cannot be raised.
void drop_privileges(bool has_user_namespace);
// The seccomp filter; it must come last.
void restrict_calls(const struct policy *policy, struct report *report);

// Ends this process with code 125 and a line on stderr that begins with "hub-confine: cannot".
_Noreturn void fail(const char *what, const char *which, int error);
// Writes the reason into a subject of the report, unless the subject has one already.
void note(char subject[static 160], const char *what, int error);

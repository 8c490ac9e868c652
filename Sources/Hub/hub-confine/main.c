// hub-confine: starts one plugin so that it reaches only what it needs, and ends all processes that the plugin started when it ends.
//
//   hub-confine [--execute PATH] [--read PATH] [--write PATH] [--socket PATH] [--hide PATH] [--temporary PATH]
//               [--reach network|listening|bluetooth] [--group FOLDER] -- PROGRAM [ARGUMENT…]
//   hub-confine --probe
//
// The hub starts it in place of the plugin. This process (the keeper) stays outside and only waits. Its child is the first process of a
// process namespace: it sets up the restrictions, starts the plugin and reaps the processes that the plugin leaves behind.
//
// If a service manager or a container covers parts of /proc, the kernel refuses to mount another /proc. A program that looks itself up in
// the outer /proc must have the same number there, so it gets all namespaces except the process namespace.
// If the kernel gives no user namespace, the keeper starts the plugin itself.
// Without a process namespace, the parent of the plugin adopts the processes that the plugin leaves behind and ends them.
//
// This program writes the first line on stderr, before the plugin's program runs:
//   hub-confine: process PID; confined: files, …; not: sockets (why), …
// Exit code and signal are the plugin's. If this program fails, it ends with code 125 and a line "hub-confine: cannot …".
#define _GNU_SOURCE
#include "confine.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

extern char **environ;

// A message of the first process of a namespace to the keeper. The pipes also show each end that the other is gone.
struct message { int ended, status, left; };

static int to_keeper[2], to_child[2];

_Noreturn void fail(const char *what, const char *which, int error) {
    fprintf(stderr, "hub-confine: cannot %s%s%s: %s\n", what, which ? " " : "", which ? which : "", strerror(error));
    _exit(125);
}

void note(char subject[static 160], const char *what, int error) {
    if (subject[0]) return;
    if (error) snprintf(subject, 160, "%s: %s", what, strerror(error));
    else snprintf(subject, 160, "%s", what);
}

// MARK: - The plugin

// Restricts this process, tells the keeper, waits until the keeper has written its line, and becomes the plugin.
_Noreturn static void become(const struct policy *policy, char *const *words, struct report *report) {
    restrict_files(policy, report);
    restrict_calls(policy, report);
    struct message news = {.ended = 0};
    if (write(to_keeper[1], &news, sizeof news) != sizeof news) _exit(125);
    char go;
    if (read(to_child[0], &go, 1) != 1) _exit(125);
    if (!words) _exit(0);
    for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    syscall(SYS_close_range, 3, ~0U, 0);
    execve(words[0], words, environ);
    fail("start", words[0], errno);
}

// Reaps all children until `plugin` has ended, then ends and counts the others.
static struct message outlive(pid_t plugin, bool is_first) {
    struct message news = {.ended = 1};
    int status;
    for (pid_t child; (child = wait(&status)) != plugin;)
        if (child < 0 && errno != EINTR) break;
    news.status = status;
    for (;;) {
        if (is_first) kill(-1, SIGKILL);
        else {
            // Processes that lost their parent are now children of the keeper; each may have more children.
            char path[64], list[4096] = "";
            snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
            int file = open(path, O_RDONLY | O_CLOEXEC);
            if (file >= 0) {
                ssize_t length = read(file, list, sizeof list - 1);
                if (length > 0) list[length] = 0;
                close(file);
            }
            for (char *next = list, *end; *next; next = end) {
                long child = strtol(next, &end, 10);
                if (end == next) break;
                if (child > 0) kill((pid_t)child, SIGKILL);
            }
        }
        pid_t child = wait(NULL);
        if (child < 0 && errno == ECHILD) return news;
        if (child > 0) news.left++;
    }
}

// MARK: - In new namespaces

static void write_file(const char *path, const char *text) {
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0) return;
    if (write(file, text, strlen(text)) < 0) {}  // The next step shows whether it worked.
    close(file);
}

// Maps the same user and group inside as outside, and no other.
static void keep_identity(uid_t user, gid_t group) {
    char text[64];
    write_file("/proc/self/setgroups", "deny");
    snprintf(text, sizeof text, "%u %u 1\n", group, group);
    write_file("/proc/self/gid_map", text);
    snprintf(text, sizeof text, "%u %u 1\n", user, user);
    write_file("/proc/self/uid_map", text);
}

// Signals for the plugin reach the whole process group; the processes that wait for the plugin ignore them.
static void ignore_signals(void) {
    const int ignored[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGPIPE, SIGTSTP, SIGTTIN, SIGTTOU};
    for (size_t index = 0; index < sizeof ignored / sizeof *ignored; index++) signal(ignored[index], SIG_IGN);
}

// Starts the plugin as a child of this process; the kernel kills it when this process ends.
static pid_t start_plugin(
    struct policy *policy, char *const *words, struct report *report, bool has_user_namespace
) {
    pid_t parent = getpid(), plugin = fork();
    if (plugin < 0) fail("start a process", NULL, errno);
    if (plugin) return plugin;
    drop_privileges(has_user_namespace);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(125);
    become(policy, words, report);
}

_Noreturn static void be_first(
    struct policy *policy, char *const *words, struct report *report, uid_t user, gid_t group
) {
    keep_identity(user, group);
    enter_own_root(policy, report);
    drop_privileges(true);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!policy->has_own_processes) prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t plugin = start_plugin(policy, words, report, true);
    close(to_child[0]);
    close(to_child[1]);
    ignore_signals();
    // Close these so that the plugin can close them for good; only the keeper still holds stderr.
    close(0), close(1), close(2);
    struct message news = outlive(plugin, policy->has_own_processes);
    if (write(to_keeper[1], &news, sizeof news) != sizeof news) _exit(125);
    _exit(0);
}

// MARK: - The keeper

static void append(char *list, size_t size, const char *text) {
    size_t length = strlen(list);
    snprintf(list + length, size - length, "%s%s", length ? ", " : "", text);
}

static void say(pid_t plugin, const struct report *report) {
    const char *names[] = {"files", "sockets", "processes", "network", "calls"};
    const char *faults[] = {report->files, report->sockets, report->processes, report->network, report->calls};
    char held[128] = "", lacking[1024] = "";
    for (int index = 0; index < 5; index++) {
        if (!faults[index][0]) {
            append(held, sizeof held, names[index]);
            continue;
        }
        char text[256];
        snprintf(text, sizeof text, "%s (%s)", names[index], faults[index]);
        append(lacking, sizeof lacking, text);
    }
    fprintf(
        stderr, "hub-confine: process %d; confined: %s%s%s\n", plugin, held[0] ? held : "nothing",
        lacking[0] ? "; not: " : "", lacking);
}

// The plugin's process as the hub sees it: the only child of the first process of its namespace.
static pid_t only_child(pid_t process) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", process, process);
    FILE *file = fopen(path, "re");
    int child = process;
    if (!file) return process;
    if (fscanf(file, "%d", &child) != 1) child = process;
    fclose(file);
    return child;
}

_Noreturn static void end_as(int status) {
    if (WIFSIGNALED(status)) {
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
        _exit(128 + WTERMSIG(status));
    }
    _exit(WEXITSTATUS(status));
}

static void let_go(void) {
    if (write(to_child[1], "", 1) != 1) fail("speak to its own process", NULL, errno);
    close(to_child[0]);
    close(to_child[1]);
    ignore_signals();
    close(0), close(1);
}

// Starts the first process of new namespaces; returns -1 if that fails.
static pid_t start_first(
    struct policy *policy, char *const *words, struct report *report
) {
    const unsigned long needed = CLONE_NEWUSER | CLONE_NEWNS | (policy->has_own_processes ? CLONE_NEWPID : 0);
    // Bluetooth exists only in the first network namespace.
    const unsigned long wanted = CLONE_NEWIPC | (policy->network || policy->bluetooth ? 0 : CLONE_NEWNET);
    uid_t user = geteuid();
    gid_t group = getegid();
    // A service manager may allow only the needed namespaces; the filter of system calls closes the network too.
    pid_t first = (pid_t)syscall(SYS_clone, needed | wanted | SIGCHLD, NULL, NULL, NULL, NULL);
    if (first < 0) first = (pid_t)syscall(SYS_clone, needed | SIGCHLD, NULL, NULL, NULL, NULL);
    if (first == 0) be_first(policy, words, report, user, group);
    return first;
}

// Returns only if nothing was started: with NO_PROC or NO_ROOT.
static int keep_in_namespaces(pid_t first, const struct report *report) {
    close(to_keeper[1]);
    struct message news;
    if (read(to_keeper[0], &news, sizeof news) != sizeof news) {
        int status = 0;
        while (waitpid(first, &status, 0) < 0 && errno == EINTR) {}
        close(to_keeper[0]);
        if (WIFEXITED(status) && (WEXITSTATUS(status) == NO_ROOT || WEXITSTATUS(status) == NO_PROC)) return WEXITSTATUS(status);
        end_as(status);
    }
    if (news.ended) {
        waitpid(first, NULL, 0);
        end_as(news.status);
    }
    say(only_child(first), report);
    let_go();
    bool has_ended = read(to_keeper[0], &news, sizeof news) == sizeof news;
    int status = 0;
    while (waitpid(first, &status, 0) < 0 && errno == EINTR) {}
    if (has_ended && news.left) fprintf(stderr, "hub-confine: ended %d processes that it left behind\n", news.left);
    end_as(has_ended ? news.status : status);
}

_Noreturn static void keep_alone(struct policy *policy, char *const *words, struct report *report) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (pipe2(to_keeper, O_CLOEXEC)) fail("make a pipe", NULL, errno);
    pid_t plugin = start_plugin(policy, words, report, false);
    close(to_keeper[1]);
    struct message news;
    if (read(to_keeper[0], &news, sizeof news) != sizeof news) {
        int status = 0;
        while (waitpid(plugin, &status, 0) < 0 && errno == EINTR) {}
        end_as(status);
    }
    say(plugin, report);
    let_go();
    news = outlive(plugin, false);
    if (news.left) fprintf(stderr, "hub-confine: ended %d processes that it left behind\n", news.left);
    end_as(news.status);
}

// Joins the control group that limits the plugin. It does so before the plugin starts, while this process is still small.
static void enter_group(const char *folder) {
    char path[4096];
    snprintf(path, sizeof path, "%s/cgroup.procs", folder);
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0 || write(file, "0", 1) != 1) fail("join the control group", folder, errno);
    close(file);
}

// MARK: - The command line

_Noreturn static void misused(const char *word) {
    fprintf(stderr, "hub-confine: cannot understand its arguments: %s; the hub starts this program\n", word);
    _exit(125);
}

int main(int count, char **arguments) {
    syscall(SYS_close_range, 3, ~0U, 0);
    // Every user can see the arguments of a process, and a path may be a secret.
    char **words = calloc((size_t)count + 1, sizeof(char *));
    for (int index = 0; words && index < count; index++) {
        if (!(words[index] = strdup(arguments[index]))) fail("have memory", NULL, ENOMEM);
        if (index > 0) memset(arguments[index], 0, strlen(arguments[index]));
    }
    if (!words) fail("have memory", NULL, ENOMEM);
    struct policy policy = {.grants = calloc((size_t)count, sizeof(struct grant))};
    struct report *report = mmap(NULL, sizeof *report, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!policy.grants || report == MAP_FAILED) fail("have memory", NULL, ENOMEM);
    static const char *const names[] = {"--execute", "--read", "--write", "--socket", "--hide"};
    int index = 1;
    bool is_probe = false;
    for (; index < count && strcmp(words[index], "--") != 0; index++) {
        const char *word = words[index];
        if (strcmp(word, "--probe") == 0) {
            is_probe = true;
            continue;
        }
        if (index + 1 >= count) misused(word);
        const char *value = words[++index];
        if (strcmp(word, "--reach") == 0) {
            if (strcmp(value, "network") == 0) policy.network = true;
            else if (strcmp(value, "listening") == 0) policy.listening = true;
            else if (strcmp(value, "bluetooth") == 0) policy.bluetooth = true;
            else misused(value);
            continue;
        }
        if (value[0] != '/') misused(value);
        if (strcmp(word, "--group") == 0) {
            enter_group(value);
            continue;
        }
        if (strcmp(word, "--temporary") == 0) {
            policy.temporary = value;
            continue;
        }
        int kind = 0;
        while (kind < 5 && strcmp(word, names[kind]) != 0) kind++;
        if (kind == 5) misused(word);
        policy.grants[policy.count++] = (struct grant){.access = (enum access)kind, .path = value, .tree = -1};
    }
    char *const *program = index + 1 < count ? words + index + 1 : NULL;
    if (!program && !is_probe) misused("there is no program");
    if (pipe2(to_child, O_CLOEXEC)) fail("make a pipe", NULL, errno);
    policy.has_own_processes = true;
    for (int result = NO_PROC; result == NO_PROC; policy.has_own_processes = false) {
        if (pipe2(to_keeper, O_CLOEXEC)) fail("make a pipe", NULL, errno);
        pid_t first = start_first(&policy, program, report);
        if (first < 0) note(report->sockets, "no user namespace", errno);
        result = first < 0 ? NO_ROOT : keep_in_namespaces(first, report);
    }
    policy.has_own_processes = false;
    keep_alone(&policy, program, report);
}

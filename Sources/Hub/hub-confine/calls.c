// Privileges, resource limits and the filter of system calls that no plugin needs.
#define _GNU_SOURCE
#include "confine.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <netinet/in.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static void bound(int resource, rlim_t most) {
    struct rlimit limit;
    if (getrlimit(resource, &limit)) return;
    if (limit.rlim_max > most) limit.rlim_max = most;
    if (limit.rlim_cur > limit.rlim_max) limit.rlim_cur = limit.rlim_max;
    setrlimit(resource, &limit);
}

void drop_privileges(bool has_user_namespace) {
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) fail("give up privileges", NULL, errno);
    for (int capability = 0; capability < 64; capability++) prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED);
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}, {0}};
    if (syscall(SYS_capset, &header, none)) fail("give up capabilities", NULL, errno);
    // 1 and not 0: with 0 the kernel still hands the memory to a program that collects core dumps.
    bound(RLIMIT_CORE, 1);
    bound(RLIMIT_NOFILE, 4096);
    bound(RLIMIT_MEMLOCK, 8 << 20);
    bound(RLIMIT_MSGQUEUE, 0);
    // The kernel counts processes per user namespace. Without one the limit would include the person's other processes.
    if (has_user_namespace) bound(RLIMIT_NPROC, 1024);
}

// Refused with EPERM: calls that reach other processes, the kernel, mounts or namespaces.
static const int refused[] = {
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, SYS_pidfd_getfd, SYS_process_madvise,
    SYS_kexec_load, SYS_bpf, SYS_perf_event_open, SYS_userfaultfd,
    SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register, SYS_keyctl, SYS_add_key, SYS_request_key,
    SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_unshare, SYS_setns, SYS_open_tree, SYS_move_mount, SYS_fsopen,
    SYS_fsconfig, SYS_fsmount, SYS_fspick, SYS_mount_setattr, SYS_open_by_handle_at, SYS_name_to_handle_at,
    SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_swapon, SYS_swapoff, SYS_reboot, SYS_acct, SYS_quotactl,
    SYS_settimeofday, SYS_clock_settime, SYS_clock_adjtime, SYS_adjtimex, SYS_sethostname, SYS_setdomainname, SYS_syslog,
    // Shared memory that no process has to map or hold open, so it cannot be counted.
    SYS_shmget, SYS_msgget, SYS_semget,
    SYS_vhangup, SYS_fanotify_init, SYS_move_pages, SYS_migrate_pages, SYS_lookup_dcookie, SYS_nfsservctl,
#ifdef SYS_kexec_file_load
    SYS_kexec_file_load,
#endif
#ifdef SYS_iopl
    SYS_iopl, SYS_ioperm, SYS_modify_ldt,
#endif
};

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define ARCHITECTURE AUDIT_ARCH_RISCV64
#endif

#ifdef ARCHITECTURE
#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
// All of these machines are little-endian: the low half comes first.
#define LOAD_ARGUMENT(index) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 8 * (index))
#define ANSWER(error) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))
#define UNLESS(value, skipped) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (skipped))
// Masks out the flags in the same argument (SOCK_CLOEXEC).
#define SOCKET_TYPES 0xf
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

void restrict_calls(const struct policy *policy, struct report *report) {
    struct sock_filter filter[256];
    unsigned short count = 0;
#define ADD(...) do { \
        const struct sock_filter more[] = {__VA_ARGS__}; \
        for (size_t at = 0; at < sizeof more / sizeof *more; at++) filter[count++] = more[at]; \
    } while (0)
    ADD(LOAD(arch), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS), LOAD(nr));
#if defined(__x86_64__)
    // The second call numbering of this machine (x32).
    ADD(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1), ANSWER(ENOSYS));
#endif
    for (size_t index = 0; index < sizeof refused / sizeof *refused; index++)
        ADD(UNLESS((uint32_t)refused[index], 1), ANSWER(EPERM));
    // clone3 keeps its flags in memory, which a filter cannot read. After ENOSYS the C library calls clone instead.
    ADD(UNLESS(SYS_clone3, 1), ANSWER(ENOSYS));
    const uint32_t namespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS
        | CLONE_NEWCGROUP;
    ADD(UNLESS(SYS_clone, 4), LOAD_ARGUMENT(0), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, namespaces, 0, 1), ANSWER(EPERM), ALLOW);
    // TIOCSTI types into the terminal that the hub was started from.
    ADD(UNLESS(SYS_ioctl, 4), LOAD_ARGUMENT(1), UNLESS(TIOCSTI, 1), ANSWER(EPERM), ALLOW);
    // A socket that was never bound gets a port when it listens, and Landlock does not see that. No argument of listen tells the family:
    // a plugin with the network and without the right to listen therefore cannot listen on Unix sockets either.
    if (policy->network && !policy->listening) ADD(UNLESS(SYS_listen, 1), ANSWER(EACCES));
    // Sockets: Unix sockets always, other families as granted.
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 1, 0), ALLOW, LOAD_ARGUMENT(0), UNLESS(AF_UNIX, 1), ALLOW);
    if (policy->network) ADD(UNLESS(AF_NETLINK, 1), ALLOW);
    if (policy->network && policy->listening) ADD(UNLESS(AF_INET, 1), ALLOW, UNLESS(AF_INET6, 1), ALLOW);
    // TCP and UDP only, as on a kernel without the other protocols: Landlock has no rule for MPTCP, SCTP or SMC listeners.
    if (policy->network && !policy->listening)
        ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 2, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 1, 0),
            BPF_STMT(BPF_JMP | BPF_JA, 13), LOAD_ARGUMENT(1), BPF_STMT(BPF_ALU | BPF_AND | BPF_K, SOCKET_TYPES),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SOCK_STREAM, 2, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SOCK_DGRAM, 1, 0),
            ANSWER(EPROTONOSUPPORT), LOAD_ARGUMENT(2), UNLESS(0, 1), ALLOW, UNLESS(IPPROTO_TCP, 1), ALLOW,
            UNLESS(IPPROTO_UDP, 1), ALLOW, ANSWER(EPROTONOSUPPORT));
    if (policy->bluetooth) ADD(UNLESS(AF_BLUETOOTH, 1), ALLOW);
    ADD(ANSWER(EACCES));
    const struct sock_fprog program = {.len = count, .filter = filter};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0) return;
    note(report->calls, "seccomp", errno);
    // A network namespace without a device is enough. Report it here too, because the namespace may be missing.
    note(report->network, "seccomp", errno);
}
#else
void restrict_calls(const struct policy *policy, struct report *report) {
    (void)policy;
    note(report->calls, "no filter for this processor", 0);
    note(report->network, "no filter for this processor", 0);
}
#endif

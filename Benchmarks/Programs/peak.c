// Prints how long a program takes and its peak memory: peak PROGRAM ARGUMENT...
#include "common.h"
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main(int count, char **arguments) {
    if (count < 2) fail("usage: peak PROGRAM ARGUMENT...");
    struct timespec begin, done;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    pid_t child = fork();
    if (child == 0) {
        dup2(open("/dev/null", O_WRONLY), 1);
        execv(arguments[1], arguments + 1);
        _exit(127);
    }
    int status;
    struct rusage usage;
    if (child < 0 || wait4(child, &status, 0, &usage) < 0) fail("%s cannot be run", arguments[1]);
    if (!WIFEXITED(status) || WEXITSTATUS(status)) fail("%s ended with %d", arguments[1], status);
    clock_gettime(CLOCK_MONOTONIC, &done);
    printf("seconds %.3f\npeak_mib %.1f\ncpu_seconds %.3f\n",
        (double)(done.tv_sec - begin.tv_sec) + (double)(done.tv_nsec - begin.tv_nsec) / 1e9, (double)usage.ru_maxrss / 1024,
        (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
    return 0;
}

// Starts a hub and prints how long it takes to answer: from fork to WELCOME.
#include "common.h"
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    const char *usage = "HUB CONFIGURATION DOOR_PATH";
    const char *hub = argument(argc, argv, 1, usage), *configuration = argument(argc, argv, 2, usage);
    const char *path = argument(argc, argv, 3, usage);
    char endpoint[256];
    snprintf(endpoint, sizeof endpoint, "ipc://%s", path);
    double begin = now();
    pid_t child = fork();
    if (!child) {
        execl(hub, hub, "run", "--config", configuration, (char *)NULL);
        _exit(127);
    }
    while (access(path, F_OK)) {
        if (waitpid(child, NULL, WNOHANG) || now() - begin > 10) fail("the hub did not start");
        usleep(500);
    }
    void *context = zmq_ctx_new();
    greet(context, endpoint, "bench", NULL);
    figure("ready_ms", (now() - begin) * 1e3);
    kill(child, SIGTERM);
    waitpid(child, NULL, 0);
    fflush(stdout);
    _exit(0);
}

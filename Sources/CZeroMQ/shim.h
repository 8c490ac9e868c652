// A module map names headers beside itself, and zmq.h lives wherever the system put it: hence this file. It adds nothing to libzmq.
#include <zmq.h>

#if ZMQ_VERSION < ZMQ_MAKE_VERSION(4, 3, 0)
#error "libzmq 4.3 or newer is needed; on Debian and Ubuntu: apt-get install libzmq3-dev"
#endif

// What the poll loop needs from Linux and Swift's Glibc module leaves out: eventfd, and the name of a thread (behind _GNU_SOURCE).
#include <pthread.h>
#include <sys/eventfd.h>
extern int pthread_setname_np(pthread_t thread, const char *name);

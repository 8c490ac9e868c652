// A module map can name only headers beside itself, but the location of zmq.h depends on the system. This file only includes it.
#include <zmq.h>

#if ZMQ_VERSION < ZMQ_MAKE_VERSION(4, 3, 0)
#error "libzmq 4.3 or newer is needed; on Debian and Ubuntu: apt-get install libzmq3-dev"
#endif

// Functions that the poll loop needs and Swift's Glibc module omits: eventfd, and the name of a thread (behind _GNU_SOURCE).
#include <pthread.h>
#include <sys/eventfd.h>
extern int pthread_setname_np(pthread_t thread, const char *name);

// libpq, the client of PostgreSQL servers.
#include <postgresql/libpq-fe.h>

// eventfd wakes a thread that waits for its socket. Swift's Glibc module omits it.
#include <sys/eventfd.h>

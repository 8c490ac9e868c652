// libpq, the client of PostgreSQL servers.
#include <postgresql/libpq-fe.h>

// What wakes a thread that waits for its socket, which Swift's Glibc module leaves out.
#include <sys/eventfd.h>

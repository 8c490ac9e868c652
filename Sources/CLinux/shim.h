// Headers of the Linux C library that Swift's Glibc module leaves out.
#include <malloc.h>
#include <sys/timex.h>

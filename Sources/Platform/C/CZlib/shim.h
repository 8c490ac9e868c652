// A module map can name only headers beside itself, but the location of zlib.h depends on the system. This file only includes it.
#include <zlib.h>

// A module map names headers beside itself, and zlib's lives wherever the system put it: hence this file.
#include <zlib.h>

// MD5 of libmd, for the stand-in of a service that put one beside its exports. For nothing that has to be secure.
#include <md5.h>

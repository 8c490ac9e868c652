// MD5 of libmd, for the stand-in of a service that published MD5 sums with its exports. MD5 is not secure.
#include <md5.h>

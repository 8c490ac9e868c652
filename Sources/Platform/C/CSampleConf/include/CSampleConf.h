#ifndef CSampleConf_h
#define CSampleConf_h

#include <stddef.h>

/// The contents of this repository's hub.conf at build time, without a NUL at the end.
const unsigned char *sample_conf_bytes(void);
size_t sample_conf_size(void);

#endif

#ifndef CSampleConf_h
#define CSampleConf_h

#include <stddef.h>

/// The hub.conf of this repository, as it is when this is built; no NUL at its end.
const unsigned char *sample_conf_bytes(void);
size_t sample_conf_size(void);

#endif

// The project's hub.conf, from which hub setup begins: the program needs no other file beside it.
#include "CSampleConf.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char bytes[] = {
#embed "../../../../hub.conf"
};

const unsigned char *sample_conf_bytes(void) { return bytes; }

size_t sample_conf_size(void) { return sizeof bytes; }

#ifndef C_PLUGIN_FILES_H
#define C_PLUGIN_FILES_H

#include <stddef.h>

/// A file of Clients/ or of Templates/.
struct plugin_file {
    const char *_Nonnull name;
    const unsigned char *_Nonnull bytes;
    size_t size;
};

/// The file with that name, which begins with Clients/ or is relative to Templates/; NULL if there is none.
const struct plugin_file *_Nullable plugin_file_named(const char *_Nonnull name);

#endif

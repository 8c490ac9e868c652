#ifndef C_HEALTH_SCHEMAS_H
#define C_HEALTH_SCHEMAS_H

#include <stddef.h>

/// A file of Docs/Schemas.
struct health_schema {
    /// Without folder and ending.
    const char *_Nonnull name;
    const unsigned char *_Nonnull bytes;
    size_t size;
};

/// One after the other; NULL after the last.
const struct health_schema *_Nullable health_schema_at(size_t index);

#endif

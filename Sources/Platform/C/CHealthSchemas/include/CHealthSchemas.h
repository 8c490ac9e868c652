#ifndef C_HEALTH_SCHEMAS_H
#define C_HEALTH_SCHEMAS_H

#include <stddef.h>

/// A file of Docs/Schemas.
struct health_schema {
    /// The file name without folder and extension.
    const char *_Nonnull name;
    const unsigned char *_Nonnull bytes;
    size_t size;
};

/// The schema at an index; NULL after the last.
const struct health_schema *_Nullable health_schema_at(size_t index);

#endif

@_exported public import JSON  // What services answer is a `JSONTree`.

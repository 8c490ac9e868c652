@_exported public import JSON  // A service's answer is a `JSONTree`.

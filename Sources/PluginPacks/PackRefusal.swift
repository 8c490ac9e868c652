/// Why something is not packed, not installed or not believed: what, where, why and what to do.
package struct PackRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// What a pack may have; all who read or make one keep to it (Protocol §14.1).
package enum PackLimits {
    /// Of the file itself.
    package static let packedBytes = 128 << 20
    /// Of all files in it.
    package static let bytes = 512 << 20
    package static let files = 4_096
    /// Of its index.
    package static let indexBytes = 2 << 20
    /// Of a path within it: what a header of tar holds without extensions.
    package static let pathBytes = 200
}

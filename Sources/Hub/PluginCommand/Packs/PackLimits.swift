/// The limits of a pack; all programs that read or make one keep to them (Protocol §14.1).
package enum PackLimits {
    /// Size of the pack file.
    package static let packedBytes = 128 << 20
    /// Total size of the files in it.
    package static let bytes = 512 << 20
    package static let files = 4_096
    /// Size of its index.
    package static let indexBytes = 2 << 20
    /// Length of a path within it: the longest that a tar header holds without extensions.
    package static let pathBytes = 200
}

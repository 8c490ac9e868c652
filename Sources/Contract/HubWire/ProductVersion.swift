/// The version of this project: of all its programs, plugins, client libraries and packages.
///
/// Protocols and stored formats have other versions. No program refuses another one for its version.
package enum ProductVersion {
    /// `.ci/version` reads it from this line.
    package static let current = "1.3.0"
}

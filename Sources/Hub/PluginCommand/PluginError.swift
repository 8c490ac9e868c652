/// The reason why a plugin cannot be examined, or is not packed, installed or trusted: what, where, why and what to do.
package struct PluginError: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

import CPluginFiles

/// A file embedded in this program: a client library or a template.
enum EmbeddedFile {
    /// - Parameter name: a name for ``plugin_file_named(_:)``.
    static func text(_ name: String) -> String {
        guard let file = plugin_file_named(name) else { preconditionFailure("files.c has no \(name)") }
        return String(decoding: UnsafeBufferPointer(start: file.pointee.bytes, count: file.pointee.size), as: UTF8.self)
    }

    /// A template with its names filled in.
    ///
    /// `@NAME@` is a name. A line that begins with `@quantity|` or `@category|` is kept only for types of that kind.
    static func filled(_ name: String, _ values: [String: String], kind: String) -> String {
        let lines = text(name).split(separator: "\n", omittingEmptySubsequences: false).compactMap {
            line -> Substring? in
            guard line.hasPrefix("@"), let bar = line.firstIndex(of: "|") else { return line }
            return line[..<bar].dropFirst() == kind ? line[bar...].dropFirst() : nil
        }
        return lines.joined(separator: "\n").replacing(/@([A-Z]+)@/) { match in values[String(match.1)] ?? "\(match.0)"
        }
    }
}

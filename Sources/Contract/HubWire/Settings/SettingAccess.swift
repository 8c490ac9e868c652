/// The access of a plugin's program to the place that a setting names; the rest of the machine is closed to it.
public enum SettingAccess: String, Sendable, Hashable, Codable, CaseIterable {
    /// The program opens nothing there; the path is only a text.
    case none
    /// Reads a file, or a folder with everything below it.
    case read
    /// Reads and writes a file or folder; a missing file is created empty, mode 0600.
    case write
    /// Writes into a folder, which is created with mode 0700 if it is missing.
    case folder
    /// Uses the device or socket at PATH of a text `SCHEME:///PATH`; if the scheme ends in `-accept`, the folder that contains it.
    case link

    func suits(_ type: SettingType) -> Bool {
        switch (self, type) {
        case (_, .list(let element)): suits(element)
        case (.link, .string), (.link, .url): true
        case (.link, _): false
        case (_, .path): true
        default: false
        }
    }
}

extension SettingDeclaration {
    /// The places that a value of this setting names, and the access to each.
    public func places(in value: SettingValue) -> [(path: String, access: SettingAccess)] {
        if let values = value.list { return values.flatMap { places(in: $0) } }
        guard let text = value.secret?.reveal() ?? value.string else { return [] }
        let element = if case .list(let element) = type { element } else { type }
        if case .path = element {
            let access = access ?? .read
            return access == .none ? [] : [(text, access)]
        }
        guard access == .link, let separator = text.firstRange(of: ":///") else { return [] }
        let path = "/" + text[separator.upperBound...].prefix { $0 != "?" && $0 != "#" }
        guard text[..<separator.lowerBound].hasSuffix("-accept") else { return [(path, .write)] }
        let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
        return [(folder.isEmpty ? "/" : folder, .folder)]
    }
}

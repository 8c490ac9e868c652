/// What a plugin's program does at the place that a setting names: all else on the machine is closed to it.
public enum SettingAccess: String, Sendable, Hashable, Codable, CaseIterable {
    /// The path is a word: the program opens nothing there.
    case none
    /// A file or a folder with all that is below, read.
    case read
    /// The same, written too; a file that is missing is made empty, mode 0600.
    case write
    /// A folder, written; made with mode 0700 where it is missing.
    case folder
    /// A text `SCHEME:///PATH`: the device or socket at PATH; where the scheme ends in `-accept` the folder it lies in.
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
    /// The places that a value of this setting names, and what is done there.
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

import Foundation
package import HubCore
package import HubWire

/// The first file of a pack: lists its files and has the manifest of its program (Protocol §14.1).
package struct PackIndex: Codable, Hashable, Sendable {
    package struct File: Codable, Hashable, Sendable {
        /// Relative to the pack's own folder, with `/` as separator.
        package var path: String
        package var bytes: Int
        /// The digest of its bytes, in lowercase hexadecimal digits.
        package var sha256: String
        /// Whether it is executable; absent means no.
        package var program: Bool?
    }

    /// The version of the file format.
    package var pack: Int
    package var name: String
    package var version: String
    /// The path of the program that the hub starts.
    package var program: String
    package var manifest: Manifest
    /// In the order in which the pack has them.
    package var files: [File]
    /// The tier that the makers of the pack claim for it; absent if they claim none.
    package var tier: TierClaim?

    package static let form = 1
    package static let path = "pack.json"

    /// Total size of all files.
    package var bytes: Int { files.reduce(0) { $0 + $1.bytes } }

    /// The file name of the pack.
    package var fileName: String { "\(name)-\(version).\(Self.ending)" }

    package static let ending = "hubplugin"

    /// The reason to refuse the pack; `nil` if it is fine.
    package var fault: String? {
        guard pack == Self.form else {
            return "it is of form \(pack), and this hub knows form \(Self.form): a newer hub may take it"
        }
        if let fault = manifest.faults.first { return "the manifest in it is wrong: \(fault)" }
        guard name == manifest.name, version == manifest.version else {
            return
                "it calls itself \(Tar.shown(name)) \(Tar.shown(version)), and its manifest says \(manifest.name) \(Tar.shown(manifest.version))"
        }
        if let fault = Self.fault(ofVersion: version) { return fault }
        guard program == "hub-\(name)" else {
            return "its program is \(Tar.shown(program)) where hub-\(name) is expected, by which the hub finds it"
        }
        return filesFault
    }

    private var filesFault: String? {
        guard files.count <= PackLimits.files else {
            return "it has \(files.count) files, and \(PackLimits.files) are the most"
        }
        var (seen, folders, sum) = (Set<String>(), Set<String>(), 0)
        for file in files {
            if let fault = Self.fault(ofPath: file.path) { return fault }
            guard seen.insert(file.path).inserted else { return "\(Tar.shown(file.path)) is in it twice" }
            var folder = file.path[...]
            while let slash = folder.lastIndex(of: "/") {
                folder = folder[..<slash]
                folders.insert(String(folder))
            }
            guard (0...PackLimits.bytes).contains(file.bytes) else { return Self.tooLarge }
            sum += file.bytes
            guard sum <= PackLimits.bytes else { return Self.tooLarge }
            guard file.sha256.utf8.count == 64, file.sha256.utf8.allSatisfy({ "0123456789abcdef".utf8.contains($0) })
            else { return "\(Tar.shown(file.path)) has no SHA-256 in its index" }
        }
        if let both = seen.intersection(folders).min() { return "\(Tar.shown(both)) is a file and a folder in it" }
        guard files.contains(where: { $0.path == program && $0.program == true }) else {
            return "it has no program \(program)"
        }
        return nil
    }

    private static let tooLarge = "unpacked it is larger than \(PackLimits.bytes >> 20) MiB, which is the most"

    /// The fault of a path; `nil` if a file may have it.
    static func fault(ofPath path: String) -> String? {
        let shown = Tar.shown(path)
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard !path.hasPrefix("/") else { return "the path \(shown) in it is absolute" }
        guard !parts.contains(".."), !parts.contains("."), !parts.contains("") else {
            return "the path \(shown) in it leads out of its folder, or in a circle"
        }
        guard path.utf8.count <= PackLimits.pathBytes else {
            return "the path \(shown)… in it is longer than \(PackLimits.pathBytes) bytes"
        }
        guard path.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F && $0 != "\\" }) else {
            return "the path \(shown) in it has characters that a name does not have"
        }
        guard !isReserved(path) else { return "the path \(shown) in it is the hub's own" }
        return nil
    }

    /// Whether the path belongs to a file that the hub writes beside the files of a pack.
    static func isReserved(_ path: String) -> Bool { path == Self.path || path.hasSuffix(TierClaim.ending) }

    /// Whether a version is older: compares the numbers; if they are equal, a suffix such as `-rc1` comes before none.
    package static func isVersion(_ version: String, before other: String) -> Bool {
        func parts(_ version: String) -> (numbers: Substring, suffix: Substring?) {
            // The part after + distinguishes builds, not versions.
            let plain = version.prefix { $0 != "+" }
            guard let dash = plain.firstIndex(of: "-") else { return (plain, nil) }
            return (plain[..<dash], plain[plain.index(after: dash)...])
        }
        let (left, right) = (parts(version), parts(other))
        switch left.numbers.compare(right.numbers, options: .numeric) {
        case .orderedAscending: return true
        case .orderedDescending: return false
        case .orderedSame: break
        }
        guard let suffix = left.suffix else { return false }
        return right.suffix.map { suffix.compare($0, options: .numeric) == .orderedAscending } ?? true
    }

    /// The fault of a version that is used in file names; `nil` if it is fine.
    static func fault(ofVersion version: String) -> String? {
        guard version.wholeMatch(of: /[A-Za-z0-9][A-Za-z0-9._+\-]{0,63}/) == nil else { return nil }
        return
            "the version \(Tar.shown(version)) names a file: at most 64 letters, digits and . _ + -, beginning with a letter or digit"
    }
}

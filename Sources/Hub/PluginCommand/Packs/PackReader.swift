import Foundation
import HubWire
import Platform

/// A pack in memory, of any origin: reads and checks its index and runs nothing of it.
package struct PackReader: Sendable {
    package let index: PackIndex
    /// The digest of the pack file, in lowercase hexadecimal digits.
    package let sha256: String
    package let bytes: [UInt8]

    /// - Throws: a refusal if the index is wrong; ``check()`` and ``unpack(to:)`` look at the files after it.
    package init(_ bytes: [UInt8]) throws(PluginError) {
        guard bytes.count <= PackLimits.packedBytes else {
            throw PluginError("it is larger than \(PackLimits.packedBytes >> 20) MiB, which is the most")
        }
        (self.bytes, sha256) = (bytes, Digests.sha256(bytes).hexadecimal)
        var source = GzipReader(bytes)
        index = try Self.index(&source)
    }

    private static func index(_ source: inout GzipReader) throws(PluginError) -> PackIndex {
        guard let first = try Tar.next(&source), first.path == PackIndex.path else {
            throw PluginError("it does not begin with \(PackIndex.path): it is not a pack of a plugin")
        }
        guard first.bytes <= PackLimits.indexBytes else { throw PluginError("its index is larger than 2 MiB") }
        let text = try content(first, &source)
        let index: PackIndex
        do throws(PrintedAnswer.InvalidAnswer) { index = try PrintedAnswer(text).read(PackIndex.self) } catch {
            throw PluginError("its index \(PackIndex.path) is invalid: \(error)")
        }
        if let fault = index.fault { throw PluginError(fault) }
        return index
    }

    private static func content(_ entry: Tar.Entry, _ source: inout GzipReader) throws(PluginError) -> [UInt8] {
        let content = try source.read(entry.bytes)
        _ = try source.read(Tar.padding(after: entry.bytes).count)
        guard content.count == entry.bytes else {
            throw PluginError("it ends in the middle of \(Tar.shown(entry.path))")
        }
        return content
    }

    /// Checks every file without writing any.
    package func check() throws(PluginError) { try walk { (_, _) throws(PluginError) in } }

    /// Writes its files and the index into an existing empty folder.
    ///
    /// - Throws: ``PluginError``; ``FileError``. Some files may have been written then.
    package func unpack(to folder: String) throws {
        var failure: FileError?
        func write(_ path: String, _ bytes: [UInt8], _ isProgram: Bool) throws(FileError) {
            try Self.makeFolders(above: path, in: folder)
            let file = try Descriptor("\(folder)/\(path)", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW)
            try file.write(bytes)
            // Do not depend on the umask: a hub that runs with another group must be able to read its files.
            try file.setMode(isProgram ? 0o755 : 0o644)
            try file.flush()
        }
        try walk { (file, bytes) throws(PluginError) in
            do throws(FileError) { try write(file.path, bytes, file.program ?? false) } catch {
                failure = error
                throw PluginError(error.description)
            }
        }
        if let failure { throw failure }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        try write(PackIndex.path, Array(try encoder.encode(index)), false)
    }

    private static func makeFolders(above path: String, in folder: String) throws(FileError) {
        var place = folder
        for part in path.split(separator: "/").dropLast() {
            place += "/\(part)"
            guard mkdir(place, 0o755) == 0 || errno == EEXIST else { throw FileError("make the folder", place) }
            chmod(place, 0o755)
        }
    }

    /// Calls `found` with each file and its bytes, in the order of the index, after checking them against the index.
    private func walk(_ found: (PackIndex.File, [UInt8]) throws(PluginError) -> Void) throws(PluginError) {
        var source = GzipReader(bytes)
        _ = try Self.index(&source)
        for file in index.files {
            guard let entry = try Tar.next(&source) else {
                throw PluginError("\(Tar.shown(file.path)) is missing in it")
            }
            guard entry.path == file.path else {
                throw PluginError(
                    "\(Tar.shown(entry.path)) is in it, but its index has \(Tar.shown(file.path)): files come once each, in that order"
                )
            }
            guard entry.bytes == file.bytes else {
                throw PluginError(
                    "\(Tar.shown(file.path)) in it has \(entry.bytes) bytes, but its index has \(file.bytes)")
            }
            let content = try Self.content(entry, &source)
            guard Digests.sha256(content).hexadecimal == file.sha256 else {
                throw PluginError("\(Tar.shown(file.path)) in it does not match its index: its SHA-256 differs")
            }
            try found(file, content)
        }
        if let more = try Tar.next(&source) {
            throw PluginError("\(Tar.shown(more.path)) is in it and not in its index")
        }
    }
}

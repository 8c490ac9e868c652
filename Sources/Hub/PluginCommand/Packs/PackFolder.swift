import Foundation
package import HubCore
package import HubWire
import Platform

/// The folder of a plugin to make a pack of: its files, without those that do not belong in a pack.
package struct PackFolder: Sendable {
    /// Absolute, with links resolved.
    package let path: String
    /// Paths of files, sorted by their bytes.
    package let files: [String]
    /// Paths that are left out: hidden files, caches, other packs, keys, virtual environments and a person's data.
    package let leftOut: [String]
    /// The path of the program, within the folder.
    package let program: String

    /// - Parameters:
    ///   - place: the path of the folder, or of a program, which is then packed alone.
    ///   - included: files or folders in it to pack although they look like data.
    package init(_ place: String, including included: [String] = []) throws {
        guard let real = realpath(place, nil) else {
            throw PluginError("\(place) is not there: name a plugin's folder")
        }
        let found = String(cString: real)
        free(real)
        guard Self.kind(found) == S_IFDIR else {
            (path, program) = (Folder.parent(of: found), String(found.dropFirst(Folder.parent(of: found).count + 1)))
            (files, leftOut) = ([program], [])
            return
        }
        var (files, leftOut) = ([String](), [String]())
        for path in included where Self.kind("\(found)/\(path)") == nil {
            throw PluginError("\(found) has no \(path) to be included")
        }
        try Self.collect("", of: found, included, &files, &leftOut)
        files.sort { Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) }
        let programs = files.filter { name in
            name.hasPrefix("hub-") && !name.contains("/") && access("\(found)/\(name)", X_OK) == 0
        }
        guard let program = programs.first, programs.count == 1 else {
            throw PluginError(
                programs.isEmpty
                    ? "\(found) has no program whose name begins with hub-: build it there, or name the program itself"
                    : "\(found) has several programs whose names begin with hub-: \(programs.joined(separator: ", ")); a pack has one"
            )
        }
        (path, self.files, self.leftOut, self.program) = (found, files, leftOut, program)
    }

    private static func kind(_ path: String) -> mode_t? {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & S_IFMT : nil
    }

    private static func collect(
        _ folder: String, of root: String, _ included: [String], _ files: inout [String], _ leftOut: inout [String]
    ) throws {
        for name in try Folder.names(in: folder.isEmpty ? root : "\(root)/\(folder)").sorted() {
            let path = folder.isEmpty ? name : "\(folder)/\(name)"
            let isWanted = included.contains { path == $0 || path.hasPrefix($0 + "/") || $0.hasPrefix(path + "/") }
            if isScratch(name) || PackIndex.isReserved(path) || !isWanted && isData(name, at: "\(root)/\(path)") {
                leftOut.append(path)
                continue
            }
            if let fault = PackIndex.fault(ofPath: path) { throw PluginError("\(root): \(fault)") }
            switch kind("\(root)/\(path)") {
            case S_IFDIR: try collect(path, of: root, included, &files, &leftOut)
            case S_IFREG: files.append(path)
            case S_IFLNK: files.append(try link(path, of: root))
            default:
                throw PluginError("\(root)/\(path) is neither a file nor a folder: take it away, or pack elsewhere")
            }
            guard files.count <= PackLimits.files else {
                throw PluginError("\(root) has more than \(PackLimits.files) files: is it the plugin's folder?")
            }
        }
    }

    /// A link to a file of the same folder is packed as that file.
    private static func link(_ path: String, of root: String) throws(PluginError) -> String {
        let place = "\(root)/\(path)"
        guard let real = realpath(place, nil) else {
            throw PluginError("\(place) is a link that leads nowhere: remove it")
        }
        defer { free(real) }
        let target = String(cString: real)
        guard target.hasPrefix(root + "/") else {
            throw PluginError("\(place) is a link out of the folder, to \(target): put a copy in its place")
        }
        guard kind(target) == S_IFREG else { throw PluginError("\(place) is a link, but not to a file: remove it") }
        return path
    }

    /// Whether it is a file that tools leave behind, a hidden file, a secret key, a signature or another pack.
    private static func isScratch(_ name: String) -> Bool {
        name.hasPrefix(".") || ["__pycache__", "node_modules", Catalogue.file].contains(name)
            || [".pyc", "~", ".swp", ".o", ".key", ".minisig", ".\(PackIndex.ending)"].contains { name.hasSuffix($0) }
    }

    /// Whether it belongs to a person or a machine and not to the plugin: readings, states, settings, logs, a virtual environment.
    private static func isData(_ name: String, at path: String) -> Bool {
        ["readings.txt", "hub.conf", "data", "run", "state"].contains(name)
            || [
                ".db", ".db-wal", ".db-shm", ".sqlite", ".sqlite-wal", ".sqlite-shm", ".log", ".jsonl", ".csv",
                ".secret", ".pem", ".env",
            ].contains { name.hasSuffix($0) } || access("\(path)/pyvenv.cfg", F_OK) == 0
    }

    /// Makes the pack of the folder.
    ///
    /// - Parameters:
    ///   - manifest: the manifest that its program prints.
    ///   - tier: the tier that was found here.
    package func pack(_ manifest: Manifest, tier: TierClaim?) throws -> (index: PackIndex, bytes: [UInt8]) {
        guard program == "hub-\(manifest.name)" else {
            throw PluginError(
                "\(path)/\(program) is the plugin \(manifest.name): call it hub-\(manifest.name), by which the hub finds it"
            )
        }
        if let fault = PackIndex.fault(ofVersion: manifest.version) { throw PluginError(fault) }
        var (entries, sum) = ([PackIndex.File](), 0)
        for name in files {
            let digest = try FileDigest("\(path)/\(name)")
            sum += digest.bytes
            guard sum <= PackLimits.bytes else {
                throw PluginError(
                    "\(path) has more than \(PackLimits.bytes >> 20) MiB, which is the most that a pack may have")
            }
            let isProgram = access("\(path)/\(name)", X_OK) == 0
            entries.append(
                .init(path: name, bytes: digest.bytes, sha256: digest.sha256, program: isProgram ? true : nil))
        }
        let sha256 = entries.first { $0.path == program }?.sha256
        let claim = tier.flatMap { $0.sha256 == sha256 && $0.version == manifest.version ? $0 : nil }
        let index = PackIndex(
            pack: PackIndex.form, name: manifest.name, version: manifest.version, program: program, manifest: manifest,
            files: entries, tier: claim)
        if let fault = index.fault { throw PluginError(fault) }
        return (index, try packed(index))
    }

    private func packed(_ index: PackIndex) throws -> [UInt8] {
        var target = GzipWriter()
        func add(_ path: String, _ bytes: [UInt8], isProgram: Bool) throws {
            guard let header = Tar.header(path, bytes: bytes.count, isProgram: isProgram) else {
                throw PluginError("the path \(Tar.shown(path)) is too long for tar: shorten it")
            }
            target.write(header)
            target.write(bytes)
            target.write(Tar.padding(after: bytes.count))
            guard target.packed.count <= PackLimits.packedBytes else {
                throw PluginError("the pack is larger than \(PackLimits.packedBytes >> 20) MiB, which is the most")
            }
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        try add(PackIndex.path, Array(try encoder.encode(index)), isProgram: false)
        for file in index.files {
            let bytes = try Descriptor("\(path)/\(file.path)", O_RDONLY).read(upTo: file.bytes + 1)
            guard bytes.count == file.bytes, Digests.sha256(bytes).hexadecimal == file.sha256 else {
                throw PluginError("\(path)/\(file.path) changed while it was packed: try again")
            }
            try add(file.path, bytes, isProgram: file.program ?? false)
        }
        target.write(Tar.end)
        return target.end()
    }
}

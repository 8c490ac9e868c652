import Glibc
import Platform

/// An export on disk: `export.zip`, or an unpacked `export.xml` with its folders.
///
/// Names from the export are looked up among the existing files and never used as paths.
public struct ExportPackage {
    private enum Place {
        case zip(ZipArchive, main: ZipEntry, files: [String: ZipEntry])
        case folder(main: String, isNamed: Bool, files: [String: String])
        case bytes([UInt8])
    }

    /// The path as the caller gave it.
    public let path: String
    private let place: Place
    /// The names of the files beside the XML, without a leading slash.
    private let fileNames: Set<String>
    /// Zip entries and folders beside the XML that cannot be read, with the reasons.
    public let unreadable: [String]

    /// More than ten times the largest known export, which has four gigabytes.
    private static let maximumMain: Int64 = 64 << 30
    /// A route has a few megabytes, and a document has less.
    static let maximumFile: Int64 = 256 << 20
    private static let folders = ["workout-routes/", "electrocardiograms/", "clinical-records/"]

    public init(_ path: String) throws(ExportError) {
        self.path = path
        if ZipArchive.isZip(path) {
            let archive = try ZipArchive(path)
            let main = try ExportPackage.main(of: archive)
            let root = String(main.name.dropLast(main.lastName.count))
            var files: [String: ZipEntry] = [:]
            for entry in archive.entries where entry.name.hasPrefix(root) && !entry.isFolder {
                files[String(entry.name.dropFirst(root.count))] = entry
            }
            place = .zip(archive, main: main, files: files)
            (fileNames, unreadable) = (Set(files.keys), archive.unreadable)
            return
        }
        let main = try ExportPackage.main(below: path)
        let folder = main.contains("/") ? String(main[...(main.lastIndex(of: "/") ?? main.startIndex)]) : "./"
        let (files, faults) = ExportPackage.files(in: folder)
        // The given path may be a symbolic link; names within the folder must not be.
        place = .folder(main: main, isNamed: main == path, files: files)
        (fileNames, unreadable) = (Set(files.keys), faults)
    }

    /// The files in the folders beside the XML, by their names in the export.
    ///
    /// Symbolic links are skipped at every level.
    private static func files(in folder: String) -> ([String: String], faults: [String]) {
        var (files, faults): ([String: String], [String]) = ([:], [])
        for name in folders {
            let place = folder + name.dropLast()
            guard kind(of: place) == S_IFDIR else {
                if kind(of: place) == S_IFLNK { faults.append("\(place): it is a link, which is not followed") }
                continue
            }
            do throws(FileError) {
                let names = try Folder.names(in: place)
                if names.count > ZipArchive.maximumEntries {
                    faults.append("\(place): more than \(ZipArchive.maximumEntries) files, and the rest is not read")
                }
                for file in names.prefix(ZipArchive.maximumEntries) where kind(of: "\(place)/\(file)") == S_IFREG {
                    files[name + file] = "\(place)/\(file)"
                }
            } catch {
                faults.append("\(error)")
            }
        }
        return (files, faults)
    }

    /// XML in memory, without files beside it.
    public init(xml bytes: [UInt8]) {
        (path, place, fileNames, unreadable) = ("(memory)", .bytes(bytes), [], [])
    }

    /// The file type, such as `S_IFREG`, without following a symbolic link; `nil` if the path does not exist.
    private static func kind(of path: String) -> mode_t? {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & S_IFMT : nil
    }

    private static func main(of archive: ZipArchive) throws(ExportError) -> ZipEntry {
        // The main file's name depends on the phone's language. It is the largest XML file apart from the clinical document.
        let candidates = archive.entries.filter {
            $0.name.lowercased().hasSuffix(".xml") && isContent($0.name) && $0.lastName != "export_cda.xml"
        }.sorted { $0.size > $1.size }
        let found = candidates.prefix(64).filter { entry in
            (try? archive.open(entry)).map { startsAsExport($0) } ?? false
        }
        guard let main = found.first else { throw noExport(in: archive, candidates) }
        guard found.count == 1 else { throw several(found.map(\.name), in: archive.path) }
        guard main.size <= maximumMain else {
            throw ExportError(
                .tooLarge,
                "\(archive.path): its \(main.lastName) has \(main.size) bytes, and no more than \(maximumMain) are read"
            )
        }
        return main
    }

    /// The exports may belong to different people, and importing only one would lose the others.
    private static func several(_ names: [String], in path: String) -> ExportError {
        let list = names.sorted().prefix(5).map { PrintableName.text($0) }.joined(separator: ", ")
        return ExportError(
            .notAnExport,
            "\(path): it has \(names.count) exports in it: \(list). Unpack it, and import each one separately, with --person if they are of several people"
        )
    }

    /// The error for a zip without an export: the detected format, if known, and the remedy.
    private static func noExport(in archive: ZipArchive, _ candidates: [ZipEntry]) -> ExportError {
        let files = archive.entries.filter { isContent($0.name) && !$0.isFolder }
        func error(_ text: String) -> ExportError { ExportError(.notAnExport, "\(archive.path): \(text)") }
        if let foreign = ForeignFormat.named(files.lazy.map(\.name)) { return error(foreign.sentence) }
        if let entry = candidates.first(where: \.isEncrypted) ?? files.first(where: \.isEncrypted) {
            return error(
                "its \(PrintableName.text(entry.lastName)) is encrypted (password): unpack it with the password, and give the folder"
            )
        }
        let zips = files.filter { $0.name.lowercased().hasSuffix(".zip") }
        if let inner = zips.first {
            return error(
                "it has \(PrintableName.text(inner.name)) in it\(zips.count > 1 ? " and \(zips.count - 1) more" : ""): unpack it once, and give that"
            )
        }
        for entry in files.prefix(16) {
            guard let source = try? archive.open(entry), let head = try? source.head(ForeignFormat.headSize),
                let foreign = ForeignFormat.starting(with: head)
            else { continue }
            return error("its \(PrintableName.text(entry.lastName)): \(foreign.sentence)")
        }
        return error(
            "the zip has no export.xml of Apple Health in it; make it in the Health app: your picture, Export All Health Data"
        )
    }

    /// False for the entries that macOS adds to a zip.
    private static func isContent(_ name: String) -> Bool {
        let last = name[(name.lastIndex(of: "/").map(name.index(after:)) ?? name.startIndex)...]
        return !name.hasPrefix("__MACOSX/") && !last.hasPrefix("._") && last != ".DS_Store"
    }

    /// The file itself, or the export in a folder.
    private static func main(below path: String) throws(ExportError) -> String {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw ExportError(.missing, "\(path): \(String(cString: strerror(errno)))")
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            let source = try FileSource(path)
            guard startsAsExport(source) else {
                throw ExportError(
                    .notAnExport,
                    source.inputSize == 0
                        ? "\(path): the file is empty"
                        : "\(path): \(foreign(path)?.sentence ?? "this is not an export of Apple Health: it has no <HealthData> at its beginning")"
                )
            }
            return path
        }
        let folder = path.hasSuffix("/") ? path : path + "/"
        let all = ((try? Folder.names(in: folder)) ?? []).sorted()
        let names = all.filter { $0.lowercased().hasSuffix(".xml") && isContent($0) && $0 != "export_cda.xml" }
        let found = names.prefix(64).filter { name in
            (try? FileSource(folder + name, followsLinks: false)).map { startsAsExport($0) } ?? false
        }
        guard let name = found.first else {
            if let foreign = ForeignFormat.named(all) {
                throw ExportError(.notAnExport, "\(path): \(foreign.sentence)")
            }
            let inner = all.first { $0.lowercased().hasSuffix(".zip") || kind(of: folder + $0) == S_IFDIR }
            throw ExportError(
                .notAnExport,
                "\(path): the folder has no export.xml of Apple Health in it"
                    + (inner.map { "; it has \(PrintableName.text($0)): give that" } ?? ""))
        }
        guard found.count == 1 else { throw several(Array(found), in: path) }
        return folder + name
    }

    /// The format of a file that is not an export; `nil` if unknown.
    public static func foreign(_ path: String) -> ForeignFormat? {
        guard let source = try? FileSource(path), let head = try? source.head(ForeignFormat.headSize) else {
            return nil
        }
        return ForeignFormat.starting(with: head)
    }

    /// Whether `<HealthData` is the first element, after a declaration of realistic size.
    private static func startsAsExport(_ source: some ExportByteSource) -> Bool {
        guard let plain = try? PlainTextSource(source), let head = try? plain.head(131_072) else { return false }
        return head.withUnsafeBufferPointer { bytes in
            guard let start = bytes.baseAddress else { return false }
            return ByteSearch.find("<HealthData", in: start, bytes.count) != nil
                || ByteSearch.find("<!DOCTYPE HealthData", in: start, bytes.count) != nil
        }
    }

    /// Opens the XML at its start.
    public func openMain() throws(ExportError) -> any ExportByteSource {
        let source: any ExportByteSource =
            switch place {
            case .zip(let archive, let main, _): try archive.open(main, limit: ExportPackage.maximumMain)
            case .folder(let main, let isNamed, _): try FileSource(main, followsLinks: isNamed)
            case .bytes(let bytes): BytesSource(bytes)
            }
        return try PlainTextSource(source)
    }

    /// The sorted names of the files in one of the folders of an export.
    public func names(in folder: String) -> [String] { fileNames.filter { $0.hasPrefix(folder + "/") }.sorted() }

    /// Whether there is a file with this name, given without a leading slash.
    func has(_ name: String) -> Bool { fileNames.contains(name) }

    /// Files of a zip that are neither the export nor in one of its folders.
    public var otherFiles: [String] {
        guard case .zip(let archive, let main, let files) = place else { return [] }
        let read = Set(
            files.filter { name, _ in ExportPackage.folders.contains { name.hasPrefix($0) } }.values.map(\.name))
        return archive.entries.filter { entry in
            entry != main && !entry.isFolder && ExportPackage.isContent(entry.name) && !read.contains(entry.name)
                && entry.lastName != "export_cda.xml"
        }.map { PrintableName.text($0.name) }
    }

    /// Opens a file by its name in the export, with or without a leading slash; `nil` if there is none.
    public func open(_ name: String) throws(ExportError) -> (any ExportByteSource)? {
        let name = name.hasPrefix("/") ? String(name.dropFirst()) : name
        guard ExportPackage.folders.contains(where: { name.hasPrefix($0) }) else { return nil }
        switch place {
        case .zip(let archive, _, let files):
            guard let entry = files[name] else { return nil }
            return try archive.open(entry, limit: ExportPackage.maximumFile)
        case .folder(_, _, let files):
            guard let file = files[name] else { return nil }
            return try FileSource(file, followsLinks: false)
        case .bytes: return nil
        }
    }
}

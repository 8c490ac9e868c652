import Glibc

/// Records held back until the end of the export, because a later correlation may contain them as well.
///
/// They are stored in an unnamed file, which disappears with the process however it ends.
final class DeferredRecords {
    struct Record {
        var mark: UInt64
        var kind: ExportBatch.Mark
        var start: Int64
        var end: Int64
        var bytes: [UInt8]
    }

    private let folder: String
    private var file: UnsafeMutablePointer<FILE>?
    private var isReading = false
    private static let headSize = 40

    init(in folder: String) { self.folder = folder }

    deinit { if let file { fclose(file) } }

    func append(_ record: Record) throws(ExportError) {
        if file == nil { file = try open() }
        var head: [Int64] = [
            Int64(bitPattern: record.mark), Int64(record.kind.type) << 32 | Int64(record.kind.source), record.start,
            record.end, Int64(record.bytes.count),
        ]
        guard fwrite(&head, 1, Self.headSize, file) == Self.headSize,
            fwrite(record.bytes, 1, record.bytes.count, file) == record.bytes.count
        else { throw fault("written") }
    }

    /// The next record in the order in which they were added; `nil` after the last.
    func next() throws(ExportError) -> Record? {
        guard let file else { return nil }
        if !isReading {
            guard fflush(file) == 0, fseek(file, 0, SEEK_SET) == 0 else { throw fault("written") }
            isReading = true
        }
        var head = [Int64](repeating: 0, count: 5)
        guard fread(&head, 1, Self.headSize, file) == Self.headSize else {
            guard ferror(file) == 0 else { throw fault("read") }
            return nil
        }
        var bytes = [UInt8](repeating: 0, count: Int(head[4]))
        guard fread(&bytes, 1, bytes.count, file) == bytes.count else { throw fault("read") }
        return Record(
            mark: UInt64(bitPattern: head[0]),
            kind: ExportBatch.Mark(type: Int(head[1] >> 32), source: Int(head[1] & 0xFFFF_FFFF)), start: head[2],
            end: head[3], bytes: bytes)
    }

    private func open() throws(ExportError) -> UnsafeMutablePointer<FILE> {
        var name = Array((folder + "/export-XXXXXX").utf8CString)
        let number = mkstemp(&name)
        guard number >= 0 else { throw fault("made") }
        _ = fcntl(number, F_SETFD, FD_CLOEXEC)
        unlink(name)
        guard let file = fdopen(number, "w+") else {
            close(number)
            throw fault("made")
        }
        setvbuf(file, nil, Int32(_IOFBF), 1 << 20)
        return file
    }

    private func fault(_ what: String) -> ExportError {
        ExportError(.io, "a file for what waits could not be \(what) in \(folder): \(String(cString: strerror(errno)))")
    }
}

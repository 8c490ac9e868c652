import Glibc
import HubClient
import Platform

/// The lines of a file, read one after the other, with the progress.
struct FileLines {
    struct Line {
        /// From 1.
        let number: Int
        /// The line without its end; empty if it is too long.
        let bytes: ArraySlice<UInt8>
        let isTooLong: Bool
    }

    /// Maximum length of a line in bytes: a record has at most 65,536, and the hub adds little.
    static let longest = 131_072
    private static let piece = 1 << 18

    /// The size of the file in bytes when it was opened.
    let size: Int64
    /// The number of bytes read so far.
    private(set) var position: Int64 = 0
    private let file: Descriptor
    private var buffer: [UInt8] = []
    private var begin = 0
    private var number = 0
    private var isAtEnd = false

    init(_ path: String) throws(Failure) {
        let opened: Descriptor
        var status = stat()
        do throws(FileError) { opened = try Descriptor(path, O_RDONLY) } catch {
            throw Failure(.usage, error.description)
        }
        guard fstat(opened.number, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw Failure(
                .usage,
                "\(path) is neither a file nor a folder with an export.xml; hub bridge publish takes records from a stream"
            )
        }
        (file, size) = (opened, Int64(status.st_size))
    }

    /// The next line that is not empty; `nil` at the end.
    mutating func next() throws(Failure) -> Line? {
        var isTooLong = false
        while true {
            if let end = buffer[begin...].firstIndex(of: UInt8(ascii: "\n")) {
                let line = buffer[begin..<end]
                begin = end + 1
                number += 1
                if isTooLong { return Line(number: number, bytes: [], isTooLong: true) }
                if line.allSatisfy({ $0 == 0x20 || $0 == 0x0D || $0 == 0x09 }) { continue }
                return Line(number: number, bytes: line, isTooLong: line.count > FileLines.longest)
            }
            guard !isAtEnd else {
                guard begin < buffer.count || isTooLong else { return nil }
                // The last line needs no line end.
                buffer.append(UInt8(ascii: "\n"))
                continue
            }
            if buffer.count - begin > FileLines.longest {
                isTooLong = true
                begin = buffer.count
            }
            try fill()
        }
    }

    private mutating func fill() throws(Failure) {
        buffer.removeFirst(begin)
        begin = 0
        do throws(FileError) {
            let piece = try file.piece(at: Int(position), upTo: FileLines.piece)
            isAtEnd = piece.isEmpty
            position += Int64(piece.count)
            buffer += piece
        } catch { throw Failure(.system, error.description) }
    }
}

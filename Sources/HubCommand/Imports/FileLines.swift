import Files
import Glibc
import HubClient

/// The lines of a file, one after the other, with how far it has come.
struct FileLines {
    struct Line {
        /// From 1.
        let number: Int
        /// Without its end; empty where it is too long.
        let bytes: ArraySlice<UInt8>
        let isTooLong: Bool
    }

    /// The bytes of a line at most: a record has 65,536, and what the hub adds is little.
    static let longest = 131_072
    private static let piece = 1 << 18

    /// The bytes of the file when it was opened.
    let size: Int64
    /// The bytes that have been read.
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
                // The last line needs no end.
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
        } catch {
            throw Failure(.system, error.description)
        }
    }
}

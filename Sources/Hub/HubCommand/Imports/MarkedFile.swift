import Foundation
import Glibc
import HubClient

/// Distinguishes archives, XML and folders from JSON Lines.
enum MarkedFile {
    /// The number of bytes to look at.
    private static let head = 4_096
    private static let archives: [[UInt8]] = [[3, 4], [5, 6], [6, 6]].map { Array("PK".utf8) + $0 }

    /// Whether the path is a folder, a zip or XML, by its name or its first bytes.
    static func isOne(_ path: String) -> Bool {
        let name = path.lowercased()
        if name.hasSuffix(".zip") || name.hasSuffix(".xml") { return true }
        var status = stat()
        guard stat(path, &status) == 0 else { return false }
        if status.st_mode & S_IFMT == S_IFDIR { return true }
        // The bytes of a pipe could not be read a second time.
        guard status.st_mode & S_IFMT == S_IFREG, let file = FileHandle(forReadingAtPath: path),
            let bytes = try? file.read(upToCount: head)
        else { return false }
        if archives.contains(where: { bytes.starts(with: $0) }) { return true }
        // XML may begin with a byte order mark, white space, and in UTF-16 zeros.
        return bytes.first { ![0xEF, 0xBB, 0xBF, 0xFE, 0xFF, 0, 9, 10, 13, 32].contains($0) } == UInt8(ascii: "<")
    }
}

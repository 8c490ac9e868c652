import FoundationEssentials
import Glibc

/// The text of the `hub.conf` with which all plugins were last well: `hub.conf.good` in the data directory, mode 0600.
///
/// A copy: secrets that the file takes from elsewhere stay references.
struct LastGoodFile: Sendable {
    let path: String

    init(data: String) { path = "\(data)/hub.conf.good" }

    func read() -> String? { FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) } }

    /// All or nothing: a power cut leaves the old text or the new.
    func write(_ text: String) throws(HubError) {
        let part = "\(path).part"
        unlink(part)
        let file = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw failure(errno) }
        let fault = Self.fill(file, text)
        close(file)
        guard fault == nil else { throw failure(fault ?? 0) }
        guard rename(part, path) == 0 else { throw failure(errno) }
    }

    /// - Returns: the error's number, if there was one.
    private static func fill(_ file: CInt, _ text: String) -> CInt? {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { systemWrite(file, $0.baseAddress, $0.count) }
            if count < 0, errno != EINTR { return errno }
            rest = rest.dropFirst(max(0, count))
        }
        return fsync(file) == 0 ? nil : errno
    }

    private func failure(_ number: CInt) -> HubError {
        HubError(.store, "cannot write \(path): \(String(cString: strerror(number)))")
    }
}

/// `write`, which the member of that name hides.
private func systemWrite(_ file: CInt, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int { write(file, bytes, count) }

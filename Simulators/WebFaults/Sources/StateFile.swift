import Foundation

/// The file in which a stand-in keeps its state, with the passwords and tokens in it.
public enum StateFile {
    /// Makes the file where it is missing, and has it be its owner's alone; SQLite gives the files beside it the same mode.
    public static func prepare(_ path: String) throws(WebFaultsError) {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw WebFaultsError("\(path): \(String(cString: strerror(errno)))") }
        defer { close(descriptor) }
        guard fchmod(descriptor, 0o600) == 0 else {
            throw WebFaultsError("\(path): \(String(cString: strerror(errno)))")
        }
    }
}

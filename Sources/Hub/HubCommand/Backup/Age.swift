import Foundation
import HubClient
import HubStore

/// Backups encrypted by the program `age`: with a passphrase, or for recipients, for which this machine needs only public keys.
struct Age: Sendable {
    /// The recipients of an encrypted backup.
    enum Recipients: Sendable {
        case keys(_ keys: [String], files: [String])
        /// A passphrase, for which age asks at the terminal.
        case passphrase

        var arguments: [String] {
            switch self {
            case .keys(let keys, let files):
                keys.flatMap { ["--recipient", $0] } + files.flatMap { ["--recipients-file", $0] }
            case .passphrase: ["--passphrase"]
            }
        }
    }

    static let suffix = ".age"

    /// Begins an encryption for `recipients` into a file, given its descriptor.
    static func seal(_ recipients: Recipients, into file: CInt) throws(StoreError) -> any ByteSink {
        if case .keys(_, let files) = recipients {
            for path in files where access(path, R_OK) != 0 {
                throw StoreError(.missing, "--recipients-file \(path): \(String(cString: strerror(errno)))")
            }
        }
        return AgeSink(try PipedProgram("age", ["--encrypt"] + recipients.arguments, .input(output: file)))
    }

    /// Opens a file of a backup: decrypts it with age if it is encrypted.
    static func open(_ path: String, _ identities: [String]) throws(StoreError) -> any ByteSource {
        let first = try PlainSource(path).read(upTo: 64 << 10)
        let text = String(decoding: first, as: UTF8.self)
        let isArmored = text.hasPrefix("-----BEGIN AGE ENCRYPTED FILE-----")
        guard text.hasPrefix("age-encryption.org/") || isArmored else { return try PlainSource(path) }
        if identities.isEmpty, !isArmored, !text.contains("\n-> scrypt ") {
            throw StoreError(
                .missing,
                "\(path): it is encrypted for recipients; say --identity FILE, with the private key of one of them")
        }
        for file in identities where access(file, R_OK) != 0 {
            throw StoreError(.missing, "--identity \(file): \(String(cString: strerror(errno)))")
        }
        // age itself asks for a passphrase; it accepts no identity then.
        let keys = text.contains("\n-> scrypt ") ? [] : identities.flatMap { ["--identity", $0] }
        return AgeSource(try PipedProgram("age", ["--decrypt"] + keys + [path], .output), path)
    }
}

/// Encrypts bytes with age into a file.
private final class AgeSink: ByteSink {
    private let program: PipedProgram

    init(_ program: PipedProgram) { self.program = program }

    func write(_ bytes: [UInt8]) throws(StoreError) { try program.write(bytes) }
    func finish() throws(StoreError) { try program.end() }
}

/// Decrypts a file with age: gives the intact part, then throws age's error if the file is damaged.
private final class AgeSource: ByteSource {
    private let program: PipedProgram
    private let path: String

    init(_ program: PipedProgram, _ path: String) { (self.program, self.path) = (program, path) }

    func read(upTo most: Int) throws(StoreError) -> [UInt8] {
        do throws(StoreError) { return try program.read(upTo: most) } catch {
            throw StoreError(
                error.code,
                "decrypt \(path): \(error.message). The file is cut or damaged, or the key is another one; nothing was changed"
            )
        }
    }

    func finish() throws(StoreError) { try program.end() }
}

import Foundation
import HubClient
import HubStore

/// Backups encrypted by the program `age`: for recipients, whose public keys are all that this machine needs, or with a passphrase.
struct Age: Sendable {
    /// Whom a backup is encrypted for.
    enum Recipients: Sendable {
        case keys(_ keys: [String], files: [String])
        /// age asks for it at the terminal.
        case passphrase

        var arguments: [String] {
            switch self {
            case .keys(let keys, let files):
                keys.flatMap { ["--recipient", $0] } + files.flatMap { ["--recipients-file", $0] }
            case .passphrase: ["--passphrase"]
            }
        }

        /// All of them, whatever their order.
        func words() throws(Failure) -> String {
            switch self {
            case .passphrase: return "passphrase"
            case .keys(let keys, let files):
                var all = keys
                for file in files {
                    guard let text = try? String(contentsOfFile: file, encoding: .utf8) else {
                        throw Failure(.usage, "--recipients-file \(file): it cannot be read")
                    }
                    all += text.split(whereSeparator: \.isNewline).map(String.init)
                }
                let known = Set(
                    all.map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty && !$0.hasPrefix("#") })
                return known.sorted().joined(separator: "\n")
            }
        }
    }

    static let suffix = ".age"

    /// How backups are written for `recipients`, and without any.
    static func seal(_ recipients: Recipients?) throws(Failure) -> BackupSeal {
        guard let recipients else { return .none }
        return BackupSeal(suffix: suffix, recipients: try recipients.words()) { (file) throws(StoreError) in
            AgeSink(try PipedProgram("age", ["--encrypt"] + recipients.arguments, .input(output: file)))
        }
    }

    /// Reads a file of a backup: by age where it is encrypted, else as it is.
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
        // A passphrase is asked for by age, which takes no identity then.
        let keys = text.contains("\n-> scrypt ") ? [] : identities.flatMap { ["--identity", $0] }
        return AgeSource(try PipedProgram("age", ["--decrypt"] + keys + [path], .output), path)
    }
}

/// Bytes that age encrypts into a file.
private final class AgeSink: ByteSink {
    private let program: PipedProgram

    init(_ program: PipedProgram) { self.program = program }

    func write(_ bytes: [UInt8]) throws(StoreError) { try program.write(bytes) }
    func finish() throws(StoreError) { try program.end() }
}

/// What age decrypts of a file: up to where it is whole, and then age's word for what is wrong.
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

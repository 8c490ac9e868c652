import Digests
import Files

/// A full backup and the increments after it.
public enum BackupChain {
    /// What all its files have in common.
    struct Identity: Equatable {
        let id: String
        /// The key of the digests of its pages.
        let key: [UInt8]
    }

    /// A chain ends after so many increments: one more file that is lost takes all behind it along.
    static let longest = 30

    /// The key from which those of the chains are made, in `<store>.backup-key`: it is in no backup, so that who has the backups alone
    /// learns nothing from the digests in their catalogues.
    struct Master {
        private let bytes: [UInt8]

        /// Makes it where there is none, or none that is whole.
        init(of store: String) throws(StoreError) {
            let path = store + ".backup-key"
            bytes = try StoreError.translated { () throws(FileError) in
                if let known = try PrivateFile.read(path, upTo: 64), known.count == 32 { return known }
                var generator = SystemRandomNumberGenerator()
                let made = (0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) }
                try PrivateFile.write(made, to: path, forOwnerOf: store)
                return made
            }
        }

        /// Nil where there is none.
        init?(known store: String) {
            guard let bytes = try? PrivateFile.read(store + ".backup-key", upTo: 64), bytes.count == 32 else {
                return nil
            }
            self.bytes = bytes
        }

        func identity(_ id: String) -> Identity {
            Identity(id: id, key: Digests.authenticate(Array("pages \(id)".utf8), key: bytes))
        }

        func authenticate(_ catalogue: [UInt8], _ id: String) -> [UInt8] {
            Digests.authenticate(catalogue, key: Digests.authenticate(Array("catalogue \(id)".utf8), key: bytes))
        }
    }

    /// The digests of pages, 32 bytes each, one after the other.
    struct PageDigests {
        static let size = 32
        private(set) var bytes: [UInt8]
        let key: [UInt8]

        init(_ bytes: [UInt8] = [], key: [UInt8]) { (self.bytes, self.key) = (bytes, key) }

        var count: Int64 { Int64(bytes.count / PageDigests.size) }

        /// That of a page, by its bytes.
        func of(_ page: [UInt8]) -> [UInt8] { Digests.authenticate(page, key: key) }

        subscript(_ page: Int64) -> ArraySlice<UInt8> {
            let start = Int(page - 1) * PageDigests.size
            return bytes[start..<start + PageDigests.size]
        }

        /// Takes the digest of a page in, which is at most one more than there are.
        mutating func set(_ page: Int64, _ digest: [UInt8]) {
            let start = Int(page - 1) * PageDigests.size
            bytes.replaceSubrange(start..<min(start + PageDigests.size, bytes.count), with: digest)
        }

        mutating func cut(to pages: Int64) {
            if pages < count { bytes.removeLast(bytes.count - Int(pages) * PageDigests.size) }
        }

        /// What tells the state from every other.
        var state: [UInt8] { Digests.authenticate(bytes, key: key) }
    }
}

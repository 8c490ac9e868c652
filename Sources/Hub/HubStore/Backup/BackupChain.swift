import Platform

/// A full backup and the increments after it.
public enum BackupChain {
    /// The id and key that all files of a chain share.
    struct Identity: Equatable {
        let id: String
        /// The key of the page digests.
        let key: [UInt8]
    }

    /// The maximum number of increments in a chain.
    ///
    /// A lost file makes all later ones useless.
    static let longest = 30

    /// The key from which the keys of the chains are derived, in `<store>.backup-key`.
    ///
    /// It is in no backup. Without it, the digests in the catalogues reveal nothing about the pages.
    struct Master {
        private let bytes: [UInt8]

        /// Reads the key, or creates it if there is no complete one.
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

        /// Reads the key; nil if there is none.
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

    /// The digests of pages, 32 bytes each, in page order.
    struct PageDigests {
        static let size = 32
        private(set) var bytes: [UInt8]
        let key: [UInt8]

        init(_ bytes: [UInt8] = [], key: [UInt8]) { (self.bytes, self.key) = (bytes, key) }

        var count: Int64 { Int64(bytes.count / PageDigests.size) }

        /// The digest of a page, from its bytes.
        func of(_ page: [UInt8]) -> [UInt8] { Digests.authenticate(page, key: key) }

        subscript(_ page: Int64) -> ArraySlice<UInt8> {
            let start = Int(page - 1) * PageDigests.size
            return bytes[start..<start + PageDigests.size]
        }

        /// Sets the digest of a page.
        ///
        /// `page` is at most one more than ``count``.
        mutating func set(_ page: Int64, _ digest: [UInt8]) {
            let start = Int(page - 1) * PageDigests.size
            bytes.replaceSubrange(start..<min(start + PageDigests.size, bytes.count), with: digest)
        }

        mutating func cut(to pages: Int64) {
            if pages < count { bytes.removeLast(bytes.count - Int(pages) * PageDigests.size) }
        }

        /// A digest that identifies the state of the whole store.
        var state: [UInt8] { Digests.authenticate(bytes, key: key) }
    }
}

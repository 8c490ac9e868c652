import FoundationEssentials
import Glibc
import HubWire
import Platform
public import Samples
public import ZeroMQ

/// The keys on disk: the hub's own pair, and the public key of each instance that may come over the network.
///
/// The files are `keys/hub.json` and `keys/instances/<instance>.json` below the data directory, mode 0600 in directories of 0700. The hub
/// keeps only the public key of an instance. Any process of the hub's user may read and change the files; a running hub reads them again
/// on request (``HubCore/ReloadKeys``).
public struct KeyRing: Sendable {
    /// An instance's key.
    public struct Entry: Hashable, Sendable, Codable {
        public var instance: String
        public var publicKey: String
        /// RFC 3339.
        public var created: String
    }

    private struct Pair: Codable {
        var publicKey, secretKey: String
    }

    private let folder: String
    private var hubFile: String { "\(folder)/hub.json" }
    private var instances: String { "\(folder)/instances" }
    private func file(_ instance: String) -> String { "\(instances)/\(instance).json" }

    /// - Parameter data: the hub's data directory.
    public init(data: String) { folder = "\(data)/keys" }

    /// The hub's own pair, generated when it is first needed.
    public func hubKeys() throws(HubError) -> CurveKeyPair {
        if let bytes = try Self.read(hubFile) {
            guard let pair = try? JSONDecoder().decode(Pair.self, from: Data(bytes)),
                let publicKey = CurveKey(z85: pair.publicKey), let secretKey = CurveSecretKey(z85: pair.secretKey),
                (try? secretKey.publicKey()) == publicKey
            else {
                throw HubError(
                    .endpoints,
                    "\(hubFile) is damaged: take it from a backup, or remove it and give every machine a new key (hub keys new NAME --replace)"
                )
            }
            return CurveKeyPair(publicKey: publicKey, secretKey: secretKey)
        }
        let made = try Self.generate()
        try prepare()
        let pair = Pair(publicKey: made.publicKey.z85, secretKey: made.secretKey.z85)
        // If two processes generate it at the same time, the first one wins and the other uses its pair.
        let isNew = try HubError.translated { () throws(FileError) in
            try PrivateFile.write(RawJSON(encoding: pair).bytes, to: hubFile, replacing: false)
        }
        return isNew ? made : try hubKeys()
    }

    /// The valid keys, by the instance's name.
    public func entries() throws(HubError) -> [Entry] {
        var entries: [Entry] = []
        let names = try HubError.translated { () throws(FileError) in try Folder.names(in: instances) }
        for name in names.sorted() where name.hasSuffix(".json") {
            guard let bytes = try Self.read("\(instances)/\(name)") else { continue }
            guard let entry = try? JSONDecoder().decode(Entry.self, from: Data(bytes)),
                CurveKey(z85: entry.publicKey) != nil, "\(entry.instance).json" == name
            else {
                throw HubError(
                    .endpoints,
                    "\(instances)/\(name) is damaged: remove it, and make a new key with hub keys new NAME")
            }
            entries.append(entry)
        }
        return entries
    }

    /// Makes a key for an instance; its secret part is only in the result.
    ///
    /// - Parameters:
    ///   - instance: a name in `hub.conf`.
    ///   - replacing: whether to replace a key that it has; if false, that key stays and this returns nil.
    public func add(_ instance: String, replacing: Bool, at time: Timestamp) throws(HubError) -> CurveKeyPair? {
        precondition(PeerName.isValid(instance), "the name of an instance")
        let keys = try Self.generate()
        try prepare()
        let entry = Entry(instance: instance, publicKey: keys.publicKey.z85, created: time.text)
        let isWritten = try HubError.translated { () throws(FileError) in
            try PrivateFile.write(RawJSON(encoding: entry).bytes, to: file(instance), replacing: replacing)
        }
        return isWritten ? keys : nil
    }

    /// Removes an instance's key.
    ///
    /// - Returns: whether it had one.
    public func remove(_ instance: String) throws(HubError) -> Bool {
        guard PeerName.isValid(instance) else { return false }
        return try HubError.translated { () throws(FileError) in try PrivateFile.remove(file(instance)) }
    }

    private static func generate() throws(HubError) -> CurveKeyPair {
        do throws(ZeroMQError) {
            return try CurveKeyPair.generate()
        } catch {
            throw HubError(.endpoints, "no key can be made: \(error)")
        }
    }

    private func prepare() throws(HubError) {
        try HubDirectories.make(folder)
        try HubDirectories.make(instances)
    }

    /// Reads a file with a limit far above the size of a key.
    private static func read(_ path: String) throws(HubError) -> [UInt8]? {
        do throws(FileError) {
            return try PrivateFile.read(path, upTo: 65_536)
        } catch {
            guard error.code == EFBIG else { throw HubError(error) }
            throw HubError(
                .endpoints,
                "\(path) has more than 65536 bytes, and no key has: take the file from a backup, or remove it and make a new key"
            )
        }
    }
}

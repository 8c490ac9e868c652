import FoundationEssentials
import Glibc
import HubWire
package import Platform

/// The result of `hub plugin test` for a program: it is valid for exactly the file that was examined.
package struct TierClaim: Codable, Hashable, Sendable {
    /// `bronze`, `silver`, `gold` or `platinum`.
    package var tier: String
    /// The version of the plugin.
    package var version: String
    /// The digest of the program's file, in lower-case hexadecimal digits.
    package var sha256: String
    /// The day of the examination, `yyyy-MM-dd`.
    package var examined: String
    /// The name of the machine that examined it, so that a file from elsewhere does not count as examined on this machine.
    package var host: String

    package init(tier: String, version: String, sha256: String, examined: String, host: String = thisHost) {
        (self.tier, self.version, self.sha256, self.examined) = (tier, version, sha256, examined)
        self.host = host
    }

    package static var thisHost: String { ProcessInfo.processInfo.hostName }

    /// Whether the claim is about this file.
    package func holds(of program: FileDigest, version: String?) -> Bool {
        sha256 == program.sha256 && self.version == version
            && ["bronze", "silver", "gold", "platinum"].contains(tier)
    }

    /// The suffix after the path of the program: a folder may contain several claims.
    package static let ending = ".tier.json"

    /// The claim beside a program, valid or not.
    package static func kept(beside program: String) -> TierClaim? {
        read(program + ending, TierClaim.self)
    }

    /// The claim in the program's pack by its maker, valid or not.
    static func declared(beside program: String) -> TierClaim? {
        struct Index: Decodable { var tier: TierClaim? }
        return read("\(Folder.parent(of: program))/pack.json", Index.self)?.tier
    }

    private static func read<Value: Decodable>(_ path: String, _: Value.Type) -> Value? {
        // An index lists every file of its pack.
        guard let bytes = try? PrivateFile.read(path, upTo: 2 << 20) else { return nil }
        return try? JSONDecoder().decode(Value.self, from: Data(bytes))
    }
}

/// The size of a file and its SHA-256, read in pieces.
package struct FileDigest: Hashable, Sendable {
    package let bytes: Int
    package let sha256: String

    package init(_ path: String) throws(FileError) {
        let file = try Descriptor(path, O_RDONLY)
        var (digest, count) = (RunningDigest(), 0)
        while true {
            let piece = try file.piece(at: count, upTo: 1 << 18)
            if piece.isEmpty { break }
            digest.add(piece)
            count += piece.count
        }
        (bytes, sha256) = (count, digest.end().hexadecimal)
    }
}

extension PluginTier {
    /// The valid claim for the current program; one that was examined on this machine takes precedence over one in its pack.
    ///
    /// - Parameter version: the version in its manifest.
    init?(of program: String, version: String?) {
        let kept = TierClaim.kept(beside: program)
        let claims = [kept, TierClaim.declared(beside: program)].compactMap { $0 }
        // Reading a large program takes a while, so it is read only if there is a claim.
        guard !claims.isEmpty, let now = try? FileDigest(program),
            let claim = claims.first(where: { $0.holds(of: now, version: version) })
        else { return nil }
        let isOurs = claim == kept && claim.host == TierClaim.thisHost
        self.init(tier: claim.tier, origin: isOurs ? "examined" : "declared", examined: claim.examined)
    }
}

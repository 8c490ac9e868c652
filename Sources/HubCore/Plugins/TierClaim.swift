import Digests
package import Files
import FoundationEssentials
import Glibc

/// What `hub plugin test` has found of a program: it holds for the very file that was examined, and for no other.
package struct TierClaim: Codable, Hashable, Sendable {
    /// `bronze`, `silver`, `gold` or `platinum`.
    package var tier: String
    /// Of the plugin.
    package var version: String
    /// Of the program's file, in small hexadecimal digits.
    package var sha256: String
    /// The day of the examination, `yyyy-MM-dd`.
    package var examined: String
    /// The name of the machine that examined it: a file that came from elsewhere is not taken for a finding of this one.
    package var host: String

    package init(tier: String, version: String, sha256: String, examined: String, host: String = thisHost) {
        (self.tier, self.version, self.sha256, self.examined) = (tier, version, sha256, examined)
        self.host = host
    }

    package static var thisHost: String { ProcessInfo.processInfo.hostName }

    /// Whether it is about this very file.
    package func holds(of program: FileDigest, version: String?) -> Bool {
        sha256 == program.sha256 && self.version == version
            && ["bronze", "silver", "gold", "platinum"].contains(tier)
    }

    /// Behind the path of the program that it is about: a folder may have several.
    package static let ending = ".tier.json"

    /// The one that is kept beside a program, whether or not it still holds.
    package static func kept(beside program: String) -> TierClaim? {
        read(program + ending, TierClaim.self)
    }

    /// The one that the maker of its pack has put in there, whether or not it still holds.
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

/// How long a file is, and its SHA-256, read in pieces.
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

/// How reliable a plugin's program was found, and by whom: what `hub plugins` shows.
package struct PluginTier: Codable, Hashable, Sendable {
    package var tier: String
    /// `examined`: by `hub plugin test` on this machine; `declared`: by who made its pack.
    package var origin: String
    package var examined: String

    /// What holds for the program that is there now; one that was examined here counts before what its pack says.
    ///
    /// - Parameter version: as its manifest has it.
    init?(of program: String, version: String?) {
        let kept = TierClaim.kept(beside: program)
        let claims = [kept, TierClaim.declared(beside: program)].compactMap { $0 }
        // Reading a large program takes a while: only where something is claimed of it.
        guard !claims.isEmpty, let now = try? FileDigest(program),
            let claim = claims.first(where: { $0.holds(of: now, version: version) })
        else { return nil }
        let isOurs = claim == kept && claim.host == TierClaim.thisHost
        (tier, origin, examined) = (claim.tier, isOurs ? "examined" : "declared", claim.examined)
    }

    /// For people.
    package var text: String {
        origin == "examined"
            ? "\(tier), as hub plugin test found here on \(examined)"
            : "\(tier), say those who made it (\(examined)); not examined here"
    }
}

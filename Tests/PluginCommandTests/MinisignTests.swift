import Foundation
import HubProcess
import Platform
import Testing

@testable import PluginCommand

@Suite struct MinisignTests {
    private let folder: TemporaryFolder
    private let pack = Array("a pack of some bytes".utf8)

    init() throws {
        folder = try TemporaryFolder()
        try PrivateFile.write(pack, to: "\(folder.path)/pack")
    }

    private func text(_ name: String) throws -> String {
        try String(contentsOfFile: "\(folder.path)/\(name)", encoding: .utf8)
    }

    /// Whether minisign succeeds with these arguments and this input.
    private func minisign(_ words: String, input: String = "") -> Bool {
        Tool.run("sh", ["-c", "cd \(folder.path) && printf '\(input)' | minisign \(words)"])
    }

    @Test(.enabled(if: Need.minisign.isMet, "\(Need.minisign.reason)"))
    func `R16.12 minisign accepts signatures made here, with a key without and with a password`() throws {
        try #require(minisign("-G -W -p a.pub -s a.key"))
        try #require(minisign("-G -p b.pub -s b.key", input: #"word\nword\n"#))
        for (name, password) in [("a", nil), ("b", "word")] {
            let secret = try text("\(name).key")
            #expect(Minisign.SecretKey.isEncrypted(secret) == (password != nil))
            let key = try Minisign.SecretKey(secret, password: password)
            let signature = key.sign(pack, comment: "file:pack")
            try PrivateFile.write(Array(signature.utf8), to: "\(folder.path)/pack.minisig")
            #expect(minisign("-V -m pack -p \(name).pub"))
            let origin = try PackOrigin(
                pack, signature: signature, keys: [try Minisign.PublicKey(try text("\(name).pub"))])
            #expect(origin == .signed(key: key.number, comment: "file:pack"))
        }
        #expect(!minisign("-V -m pack -p a.pub"))
        #expect(throws: PluginError.self) { try Minisign.SecretKey(try text("b.key"), password: "sword") }
        #expect(throws: PluginError.self) { try Minisign.SecretKey(try text("b.key"), password: nil) }
    }

    @Test(.enabled(if: Need.minisign.isMet, "\(Need.minisign.reason)"))
    func `R16.12 signatures of minisign are accepted here, unless the pack or the comment was changed`() throws {
        try #require(minisign("-G -W -p a.pub -s a.key"))
        try #require(minisign("-G -W -p b.pub -s b.key"))
        let (key, other) = (try Minisign.PublicKey(try text("a.pub")), try Minisign.PublicKey(try text("b.pub")))
        for flag in ["-H", "-l"] {
            try #require(minisign("-S \(flag) -m pack -s a.key -t 'by me'"))
            let signature = try text("pack.minisig")
            #expect(
                try PackOrigin(pack, signature: signature, keys: [other, key])
                    == .signed(key: key.number, comment: "by me"))
            #expect(try PackOrigin(pack, signature: signature, keys: [other]) == .unknown(key: key.number))
            #expect(throws: PluginError.self) { try PackOrigin(pack + [0], signature: signature, keys: [key]) }
            let comment = signature.replacing("by me", with: "by you")
            #expect(throws: PluginError.self) { try PackOrigin(pack, signature: comment, keys: [key]) }
            #expect(throws: PluginError.self) { try PackOrigin(pack, signature: "untrusted comment: x\n", keys: [key]) }
        }
        #expect(try PackOrigin(pack, signature: nil, keys: [key]) == .unsigned)
    }

    @Test func `the signature and the digests agree with the standards`() throws {
        // RFC 8032 §7.1, test 2; RFC 7693, appendix A.
        let pair = Ed25519.pair(
            seed: try #require(
                [UInt8](hexadecimal: "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb")))
        #expect(pair.publicKey.hexadecimal == "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")
        let signature = Ed25519.sign([0x72], with: pair.secretKey)
        #expect(signature.hexadecimal.hasPrefix("92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"))
        #expect(Ed25519.proves(signature, of: [0x72], by: pair.publicKey))
        #expect(!Ed25519.proves(signature, of: [0x73], by: pair.publicKey))
        #expect(!Ed25519.proves([], of: [0x72], by: pair.publicKey))
        #expect(
            Digests.blake2b(Array("abc".utf8), length: 64).hexadecimal.hasPrefix(
                "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"))
        var digest = RunningDigest()
        for byte in "abc".utf8 { digest.add([byte]) }
        #expect(digest.end() == Digests.sha256("abc".utf8))
    }
}

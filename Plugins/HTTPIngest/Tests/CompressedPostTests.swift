import Foundation
import HubProcess
import JSON
import NIOCore
import Platform
import PluginTesting
import Testing

@testable import HTTPIngest

/// Bodies that are compressed according to `Content-Encoding`.
@Suite(.timeLimit(.minutes(1)), .serialized) struct CompressedPostTests {
    private func gzip(_ bytes: [UInt8]) -> [UInt8] {
        var writer = GzipWriter()
        writer.write(bytes)
        return writer.end()
    }

    private func gzip(_ text: String) -> [UInt8] { gzip(Array(text.utf8)) }

    private func send(
        _ scene: Scene, _ body: [UInt8], _ coding: String? = "gzip", to path: String = "/ingest/plain"
    ) async throws -> Scene.Answer {
        try await scene.send("POST", path, body, fields: coding.map { ["Content-Encoding": $0] } ?? [:])
    }

    @Test(.enabled(if: Need.https.isMet, Comment(rawValue: Need.https.reason)))
    func `A body that gzip packs and curl sends equals the unpacked body, which then adds nothing`() async throws {
        let (scene, folder) = (try await Scene(), try TemporaryFolder())
        let (path, address) = ("\(folder.path)/body.json", "http://127.0.0.1:\(scene.port)/ingest/hae")
        try Data(Scene.fixture("hae-raw.json")).write(to: URL(filePath: path))
        let packing = try ChildProcess("/usr/bin/env", ["gzip", "--keep", path])
        #expect(await packing.waitForExit() == 0)
        try await scene.run { () async throws in
            let packed = try await Curl(
                address, "@\(path).gz", options: ["-H", "Content-Encoding: gzip", "-H", "Transfer-Encoding: chunked"])
            #expect(packed.status == 200, "\(packed)")
            let held = await scene.hub.heldText()
            #expect(held.count > 10)
            let plain = try await Curl(address, "@\(path)")
            #expect(plain.status == 200 && plain.body.contains(#""stored":0,"#), "\(plain)")
            #expect(await scene.hub.heldText() == held)
        }
    }

    @Test func `The same bytes within a minute are one post, packed or not, under any name of the coding`() async throws
    {
        let scene = try await Scene()
        let body = #"{"weight":80.4}"#
        try await scene.run { () async throws in
            #expect(try await send(scene, gzip(body)).count("stored") == 1)
            for coding in ["x-gzip", "GZIP", " gzip "] {
                #expect(try await send(scene, gzip(body), coding).count("duplicate") == 1, "\(coding)")
            }
            #expect(try await send(scene, Array(body.utf8), "identity").count("duplicate") == 1)
            #expect(try await send(scene, Array(body.utf8), nil).count("duplicate") == 1)
        }
    }

    @Test func `The limit applies to the unpacked size, and a decompression bomb is refused when it exceeds it`()
        async throws
    {
        let scene = try await Scene()
        let weight = #"{"weight":80.4,"start":"2026-02-10T06:31:02Z"}"#
        func blown(to count: Int) -> [UInt8] {
            gzip(Array(weight.utf8) + [UInt8](repeating: 0x20, count: count - weight.utf8.count))
        }
        try await scene.run { () async throws in
            #expect(try await send(scene, blown(to: 1 << 20)).count("stored") == 1)
            let larger = try await send(scene, blown(to: 1 << 20 + 1))
            #expect(larger.status == 413 && larger.body.contains("1048576"))
            // 64 MB in 64 kB, of which only the beginning is sent; the server neither reads it to the end nor waits for it.
            var bomb = GzipWriter()
            for _ in 0..<64 { bomb.write([UInt8](repeating: 0x20, count: 1 << 20)) }
            let packed = bomb.end()
            #expect(packed.count < 1 << 20)
            let head = Scene.head("POST", "/ingest/hae", length: packed.count, fields: ["Content-Encoding": "gzip"])
            let answer = try await scene.send(raw: Array(head.utf8) + packed.prefix(8_192))
            #expect(answer.status == 413 && answer.body.contains("unpacked"))
            // Nested gzip: only the outer layer is unpacked, and the result is not JSON.
            #expect(try await send(scene, gzip(packed)).status == 400)
            #expect(try await send(scene, gzip(gzip(weight))).status == 400)
            #expect(await scene.hub.held.count == 1)
        }
    }

    @Test
    func `A packed body that is cut, changed, too long or not gzip is refused with the reason and stores nothing`()
        async throws
    {
        let scene = try await Scene()
        let body = #"{"weight":80.4}"#
        let packed = gzip(body)
        var changed = packed
        changed[packed.count - 6] ^= 1
        let cases: [(String, [UInt8], Int, String)] = [
            ("cut", packed.dropLast(), 400, "not packed or sent whole"), ("empty", [], 400, "not packed or sent whole"),
            ("sum", changed, 400, "damaged"), ("plain", Array(body.utf8), 400, "is not gzip"),
            ("more", packed + Array(body.utf8), 400, "after the end"),
            ("members", packed + packed, 415, "several members"),
        ]
        try await scene.run { () async throws in
            for (name, bytes, status, words) in cases {
                let answer = try await send(scene, bytes)
                #expect(answer.status == status && answer.body.contains(words), "\(name): \(answer)")
            }
            #expect(await scene.hub.held.count == 0)
            #expect(try await send(scene, packed).status == 200)
        }
    }

    @Test func `An unsupported coding is refused at every address with the list of supported ones`() async throws {
        let scene = try await Scene()
        try await scene.run { () async throws in
            for coding in ["br", "deflate", "zstd", "compress", "gzip, gzip", "gzip, br", "identity, gzip", "x\u{1F}"] {
                let answer = try await send(scene, gzip(#"{"weight":80.4}"#), coding)
                // The last is not a valid header field.
                #expect(answer.status == (coding.hasPrefix("x") ? 400 : 415), "\(coding): \(answer)")
                guard answer.status == 415 else { continue }
                #expect(answer.fields["accept-encoding"] == "gzip, identity" && answer.body.contains("as gzip"))
            }
            let logIn = gzip(#"{"username":"0badcafe","password":"a-secret-that-is-no-secret"}"#)
            #expect(try await send(scene, logIn, to: "/api/v2/login").status == 415)
            #expect(await scene.hub.held.count == 0)
        }
    }

    @Test func `A full disk is answered 503, packed or not, and the same post is stored later`() async throws {
        let scene = try await Scene()
        let blank = String(repeating: " ", count: 400_000)
        let body = Array((blank + #"{"weight":80.4}"#).utf8)
        try await scene.run { () async throws in
            // The folder for long bodies is missing for a while.
            try FileManager.default.moveItem(atPath: scene.place.state, toPath: scene.place.state + "-away")
            for (bytes, coding) in [(body, nil), (gzip(body), "gzip")] {
                let answer = try await send(scene, bytes, coding)
                #expect(answer.status == 503 && answer.fields["retry-after"] != nil, "\(answer)")
            }
            try FileManager.default.moveItem(atPath: scene.place.state + "-away", toPath: scene.place.state)
            #expect(try await send(scene, gzip(body)).status == 200)
        }
    }

    @Test(arguments: Thoroughness.seeds(20))
    func `A packed body is the same in pieces of any size`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let folder = try TemporaryFolder()
        // Small bodies stay in memory, others go to a file.
        let count = Int.random(in: 0...(seed % 2 == 0 ? 600_000 : 2_000), using: &generator)
        var bytes: [UInt8] = []
        while bytes.count < count {
            bytes += [UInt8](
                repeating: .random(in: 0...255, using: &generator), count: .random(in: 1...900, using: &generator))
        }
        let body = BodyBytes(folder: folder.path)
        let writer = BodyWriter(body, coding: .gzip, most: bytes.count)
        var rest = gzip(bytes)[...]
        while !rest.isEmpty {
            #expect(throws: BodyWriter.BodyError.cut) { try writer.end() }
            let piece = rest.prefix(.random(in: 1...max(2, rest.count / 3), using: &generator))
            try writer.append(ByteBuffer(bytes: piece))
            rest = rest.dropFirst(piece.count)
        }
        try writer.end()
        #expect(try body.bytes().elementsEqual(bytes))
        guard !bytes.isEmpty else { return }
        let short = BodyWriter(BodyBytes(folder: folder.path), coding: .gzip, most: bytes.count - 1)
        #expect(throws: BodyWriter.BodyError.size) { try short.append(ByteBuffer(bytes: gzip(bytes))) }
    }
}

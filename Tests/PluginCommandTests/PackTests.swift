import Foundation
import HubCore
import HubProcess
import HubWire
import Platform
import Testing

@testable import PluginCommand

/// A shell plugin that can only describe itself.
struct SmallPlugin {
    let folder: TemporaryFolder

    static func manifest(version: String = "1.0", reads: [String] = []) -> String {
        let reads = reads.map { "\"\($0)\"" }.joined(separator: ",")
        return
            #"{"name":"small","summary":"Gives little.","version":"\#(version)","writes":["weight"],"reads":[\#(reads)],"#
            + #""settings":[{"name":"file","type":"path","help":"What it reads.","required":true},"#
            + #"{"name":"every","type":"duration","help":"How often.","default":"1h"}]}"#
    }

    init(version: String = "1.0", reads: [String] = [], more: [String: String] = ["lib/part.sh": "# a part\n"]) throws {
        folder = try TemporaryFolder()
        try folder.write(
            "#!/bin/sh\n[ \"$*\" = --describe ] || exit 64\necho '\(Self.manifest(version: version, reads: reads))'\n",
            to: "hub-small", isProgram: true)
        for (path, text) in more { try write(path, text) }
    }

    func write(_ path: String, _ text: String) throws {
        try Folder.make(Folder.parent(of: "\(folder.path)/\(path)"))
        try text.write(toFile: "\(folder.path)/\(path)", atomically: false, encoding: .utf8)
    }

    var manifest: Manifest { get throws { try JSONDecoder().decode(Manifest.self, from: Data(Self.manifest().utf8)) } }

    func pack() throws -> [UInt8] { try PackFolder(folder.path).pack(try manifest, tier: nil).bytes }
}

@Suite struct PackTests {
    @Test func `R16.1 the same files give the same pack, and tar can unpack it`() throws {
        let (one, two) = (try SmallPlugin(), try SmallPlugin())
        utimes("\(two.folder.path)/hub-small", [timeval(tv_sec: 1, tv_usec: 0), timeval(tv_sec: 1, tv_usec: 0)])
        let pack = try one.pack()
        #expect(try pack == two.pack())
        let file = "\(one.folder.path)/a.hubplugin"
        try PrivateFile.write(pack, to: file)
        try Folder.make("\(one.folder.path)/out")
        #expect(Tool.run("tar", ["-xzf", file, "-C", "\(one.folder.path)/out"]))
        #expect(try String(contentsOfFile: "\(one.folder.path)/out/lib/part.sh", encoding: .utf8) == "# a part\n")
        #expect(access("\(one.folder.path)/out/hub-small", X_OK) == 0)
    }

    @Test func `unpacked files equal the packed ones`() throws {
        var seed = SeededGenerator(seed: 7)
        let long = "a" + String(repeating: "/bcdefghi", count: 20)
        let plugin = try SmallPlugin(more: ["empty": "", long: "x", "ä ö.txt": String(seed.next())])
        let target = try TemporaryFolder()
        let pack = try PackReader(try plugin.pack())
        try pack.check()
        try pack.unpack(to: target.path)
        for file in pack.index.files {
            #expect(
                FileManager.default.contentsEqual(
                    atPath: "\(target.path)/\(file.path)", andPath: "\(plugin.folder.path)/\(file.path)"))
        }
        #expect(pack.index.files.map(\.path).contains(long))
    }

    @Test func `R16.2 hidden files, caches, keys and other packs are left out and listed`() throws {
        let scratch = [
            ".git/config", ".build/x", "__pycache__/a.pyc", "my.key", "old.hubplugin", "hub-small.tier.json",
            "pack.json",
        ]
        let plugin = try SmallPlugin(more: Dictionary(uniqueKeysWithValues: scratch.map { ($0, "") }))
        let folder = try PackFolder(plugin.folder.path)
        #expect(folder.files == ["hub-small"])
        #expect(folder.leftOut.count == scratch.count)
    }

    @Test func `R16.2 personal data and virtual environments are left out unless they are asked for`() throws {
        let data = [
            "readings.txt", "hub.conf", "data/hub.sqlite", "state.db", "lib/export.csv", "venv/pyvenv.cfg",
            "venv/bin/x", "run.log",
        ]
        let plugin = try SmallPlugin(more: Dictionary(uniqueKeysWithValues: data.map { ($0, "") }))
        symlink("/usr/bin/python3", "\(plugin.folder.path)/venv/bin/python3")
        let folder = try PackFolder(plugin.folder.path)
        #expect(folder.files == ["hub-small"])
        let left = ["data", "hub.conf", "lib/export.csv", "readings.txt", "run.log", "state.db", "venv"]
        #expect(folder.leftOut.sorted() == left)
        let asked = try PackFolder(plugin.folder.path, including: ["lib/export.csv", "data"])
        #expect(asked.files == ["data/hub.sqlite", "hub-small", "lib/export.csv"])
        #expect(throws: PluginError.self) { try PackFolder(plugin.folder.path, including: ["nothing"]) }
    }

    @Test func `R16.2 a link out of the folder is refused, and one within it is packed as its file`() throws {
        let plugin = try SmallPlugin()
        symlink("lib/part.sh", "\(plugin.folder.path)/alias")
        #expect(try PackReader(try plugin.pack()).index.files.contains { $0.path == "alias" && $0.bytes == 9 })
        symlink("/etc/passwd", "\(plugin.folder.path)/lib/users")
        let refusal = #expect(throws: PluginError.self) { try plugin.pack() }
        #expect(refusal?.description.contains("lib/users is a link out of the folder") == true)
    }

    @Test func `a pipe, a second program, and a program with another name are refused`() throws {
        let plugin = try SmallPlugin()
        mkfifo("\(plugin.folder.path)/pipe", 0o600)
        #expect(throws: PluginError.self) { try plugin.pack() }
        unlink("\(plugin.folder.path)/pipe")
        rename("\(plugin.folder.path)/hub-small", "\(plugin.folder.path)/hub-other")
        let refusal = #expect(throws: PluginError.self) { try plugin.pack() }
        #expect(refusal?.description.contains("call it hub-small") == true)
        try plugin.folder.write("", to: "hub-more", isProgram: true)
        #expect(throws: PluginError.self) { try plugin.pack() }
    }

    @Test func `R16.5 a pack that is truncated or changed anywhere is refused`() throws {
        let pack = try SmallPlugin().pack()
        var seed = SeededGenerator(seed: 11)
        for _ in 0..<120 {
            let cut = Array(pack.prefix(Int(seed.next() % UInt64(pack.count))))
            #expect(throws: PluginError.self) { try PackReader(cut).check() }
            var changed = pack
            // The gzip header has a time and a system, which have no effect.
            let place = 10 + Int(seed.next() % UInt64(pack.count - 10))
            changed[place] ^= UInt8(1 << (seed.next() % 8))
            // A few bits of a compressed stream have no effect either: the files are then the same.
            if refusal(changed) == "taken" { #expect(try PackReader(changed).index == PackReader(pack).index) }
        }
        #expect(throws: PluginError.self) { try PackReader(pack + [0]).check() }
        #expect(throws: PluginError.self) { try PackReader(pack + pack).check() }
    }

    // MARK: - Hostile packs

    /// A handmade pack with any index and any tar entries.
    private func forged(
        _ change: (inout PackIndex) -> Void = { _ in }, files: ([(String, [UInt8])]) -> [(String, [UInt8])] = { $0 },
        header: (inout [UInt8]) -> Void = { _ in }
    ) throws -> [UInt8] {
        let program = Array("#!/bin/sh\n".utf8)
        var index = PackIndex(
            pack: 1, name: "small", version: "1.0", program: "hub-small", manifest: try SmallPlugin().manifest,
            files: [
                .init(
                    path: "hub-small", bytes: program.count, sha256: Digests.sha256(program).hexadecimal, program: true)
            ])
        change(&index)
        var target = GzipWriter()
        let all = [("pack.json", Array(try JSONEncoder().encode(index)))] + files([("hub-small", program)])
        for (path, bytes) in all {
            var head = try #require(Tar.header(path, bytes: bytes.count, isProgram: true))
            if path != "pack.json" {
                header(&head)
                head.replaceSubrange(148..<156, with: "        ".utf8)
                let sum = String(head.reduce(0) { $0 + Int($1) }, radix: 8)
                head.replaceSubrange(
                    148..<156, with: (String(repeating: "0", count: 6 - sum.count) + sum + "\u{0} ").utf8)
            }
            target.write(head + bytes + Tar.padding(after: bytes.count))
        }
        target.write(Tar.end)
        return target.end()
    }

    private func refusal(_ pack: [UInt8]) -> String {
        do throws(PluginError) {
            try PackReader(pack).check()
            return "taken"
        } catch { return error.description }
    }

    /// The refusal of a handmade pack with another index.
    private func refusal(index change: (inout PackIndex) -> Void) throws -> String {
        refusal(try forged(change, files: { $0 }))
    }

    @Test func `a correct handmade pack is accepted`() throws {
        #expect(refusal(try forged()) == "taken")
    }

    @Test(arguments: [
        ("../hub-evil", "leads out"), ("/etc/cron.d/evil", "absolute"), ("a/../../b", "leads out"),
        ("a//b", "leads out"), ("./a", "leads out"), ("pack.json", "hub's own"), ("hub-small.tier.json", "hub's own"),
        ("a\nb", "characters"), ("hub-small", "twice"), ("hub-small/x", "a file and a folder"),
        (String(repeating: "a/", count: 120) + "b", "longer"),
    ]) func `R16.6 a path that leads out of the pack, is reserved or occurs twice is refused`(
        _ path: String, _ words: String
    ) throws {
        let sum = Digests.sha256([]).hexadecimal
        let pack = try forged {
            $0.files.append(.init(path: path, bytes: 0, sha256: sum))
        } files: {
            $0 + [("x", [])]
        }
        #expect(refusal(pack).contains(words))
    }

    @Test(arguments: [
        ("1", "hard link"), ("2", "symbolic link"), ("3", "device"), ("4", "device"), ("5", "folder"),
        ("6", "pipe"), ("x", "extension"), ("L", "extension"),
    ]) func `R16.6 an entry that is not a plain file is refused`(_ type: String, _ words: String) throws {
        #expect(refusal(try forged { $0[156] = Array(type.utf8)[0] }).contains(words))
    }

    private func forged(_ header: (inout [UInt8]) -> Void) throws -> [UInt8] {
        try forged({ _ in }, files: { $0 }, header: header)
    }

    @Test func `R16.5 digests, sizes, order and number of files must agree with the index`() throws {
        let other = Array("#!/bin/ls\n".utf8)
        #expect(refusal(try forged(files: { _ in [("hub-small", other)] })).contains("SHA-256"))
        #expect(refusal(try forged(files: { _ in [("hub-small", other + [1])] })).contains("11 bytes"))
        #expect(refusal(try forged(files: { _ in [] })).contains("missing"))
        #expect(refusal(try forged(files: { $0 + $0 })).contains("not in its index"))
        #expect(refusal(try forged(files: { $0 + [("more", [])] })).contains("not in its index"))
        #expect(
            refusal(try forged { $0.replaceSubrange(124..<136, with: "77777777777\u{0}".utf8) }).contains("bytes, but"))
    }

    @Test func `R16.7 a pack that would be too large is refused by its index before it is unpacked`() throws {
        #expect(try refusal(index: { $0.files[0].bytes = 1 << 40 }).contains("larger than 512 MiB"))
        #expect(try refusal(index: { $0.files[0].bytes = .max }).contains("larger than 512 MiB"))
        #expect(try refusal(index: { $0.files[0].bytes = -1 }).contains("larger than 512 MiB"))
        let many = (0..<5_000).map { PackIndex.File(path: "f\($0)", bytes: 0, sha256: "") }
        #expect(try refusal(index: { $0.files += many }).contains("4096 are the most"))
        // Half a GiB of zeros compresses to half a MiB.
        var bomb = GzipWriter()
        bomb.write(try #require(Tar.header("pack.json", bytes: 64 << 20, isProgram: false)))
        bomb.write([UInt8](repeating: 0x20, count: 64 << 20))
        #expect(refusal(bomb.end()).contains("index is larger"))
    }

    @Test func `R16.4 an index with a wrong form, name, version or program is refused with the reason`() throws {
        #expect(try refusal(index: { $0.pack = 2 }).contains("form 2"))
        #expect(try refusal(index: { $0.name = "other" }).contains("calls itself"))
        #expect(try refusal(index: { $0.version = "2" }).contains("calls itself"))
        #expect(try refusal(index: { $0.program = "hub-other" }).contains("hub-small is expected"))
        #expect(try refusal(index: { $0.manifest.reads = ["wieght"] }).contains("reads[0]"))
        #expect(try refusal(index: { ($0.version, $0.manifest.version) = ("../1", "../1") }).contains("names a file"))
        #expect(refusal([]).contains("ends in the middle"))
        #expect(refusal(Array("#!/bin/sh".utf8)).contains("not a pack"))
    }
}

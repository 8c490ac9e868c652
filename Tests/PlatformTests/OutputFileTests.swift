import Foundation
import Platform
import Testing

@Suite struct OutputFileTests {
    private let folder = NSTemporaryDirectory() + "hub-output-" + UUID().uuidString

    init() throws { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false) }

    private var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted() }

    @Test func `a file gets its name when it is published, and an unpublished file leaves nothing behind`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        do {
            let file = try OutputFile(folder + "/a")
            try file.write(Array("one ".utf8))
            try file.write(Array("two".utf8))
            #expect(names == ["a.\(getpid()).draft"])
            #expect(try file.publish(replacing: false))
            #expect(try String(contentsOfFile: folder + "/a", encoding: .utf8) == "one two")
        }
        #expect(names == ["a"])
        do { try OutputFile(folder + "/b").write([1]) }
        #expect(names == ["a"])
    }

    @Test func `publishing keeps an existing file unless replacing is requested`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try Data("old".utf8).write(to: URL(filePath: folder + "/a"))
        let refused = try OutputFile(folder + "/a")
        try refused.write([0x78])
        #expect(try !refused.publish(replacing: false))
        #expect(try String(contentsOfFile: folder + "/a", encoding: .utf8) == "old")
        #expect(try refused.publish(replacing: true))
        #expect(try String(contentsOfFile: folder + "/a", encoding: .utf8) == "x")
    }

    @Test func `a new file removes the drafts of the same name whose process has ended`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let ended = Process()
        ended.executableURL = URL(filePath: "/bin/true")
        try ended.run()
        ended.waitUntilExit()
        let (dead, living) = ("a.\(ended.processIdentifier).draft", "a.1.draft")
        for name in [dead, living] {
            #expect(FileManager.default.createFile(atPath: "\(folder)/\(name)", contents: nil))
        }
        let file = try OutputFile(folder + "/a")
        #expect(try file.publish(replacing: false))
        #expect(names == ["a", living].sorted())
    }
}

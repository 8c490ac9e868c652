import Foundation
import HubProcess
import HubSettings
import HubWire
import Testing

@Suite struct SecretTests {
    private let clear = "hunter2-in-clear"

    /// All text forms that a value may be printed in by accident.
    private func shown(_ value: some Encodable) throws -> String {
        var dumped = ""
        dump(value, to: &dumped)
        let mirror = Mirror(reflecting: value).children.map { "\($0.value)" }.joined()
        let json = String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
        return ["\(value)", String(reflecting: value), dumped, mirror, json].joined(separator: "\n")
    }

    @Test func `only reveal returns the text of a secret`() throws {
        let secret = Secret(clear)
        #expect(try !shown(secret).contains(clear))
        #expect(try !shown(SettingValue.secret(secret)).contains(clear))
        #expect(try !shown(["a": SettingValue.list([.secret(secret)])]).contains(clear))
        #expect("\(secret)" == "<secret>")
        #expect(secret.reveal() == clear)
        #expect(SettingValue.list([.secret(secret)]).revealed() == .list([.string(clear)]))
    }

    @Test func `a plain-text secret gives a warning unless only the owner can read the file`() throws {
        let text = "[plugin.exist]\nclient_secret = \"\(clear)\"\n"
        let open = load(text, mode: 0o644)
        #expect(
            open.lines == [
                "hub.conf:2: warning: [plugin.exist] client_secret = <secret>: others can read this file; write \"${NAME}\" or \"${file:PATH}\", or give the file mode 0600"
            ])
        let configuration = try #require(open.configuration)
        #expect(configuration.plugins[0].settings["client_secret"]?.secret?.reveal() == clear)
        var dumped = ""
        dump(open, to: &dumped)
        #expect(!(dumped + "\(open)" + String(reflecting: configuration)).contains(clear))
        #expect(load(text, mode: 0o600).lines == [])
    }

    @Test func `no error about a secret shows it`() {
        let mistakes = [
            "client_secret = [\"\(clear)\"]", "client_secret = { a = \"\(clear)\" }", "client_secret = \"\(clear)",
            "client_secret = \(clear)", "client_secret = \"\(clear)\"\nclient_secret = \"\(clear)\"",
            "client_secrt = \"\(clear)\"", "client_secret = \"${x \(clear)}\"", "client_secret = 77\(clear)",
            "client_secret = true\(clear)", "client_secret = \"\"\"\(clear)", "client_secret \"\(clear)\"",
        ]
        for mistake in mistakes {
            let loaded = load("[plugin.exist]\n" + mistake)
            #expect(loaded.problems.hasErrors, "\(mistake)")
            let json = (try? JSONEncoder().encode(loaded.problems)).map { String(decoding: $0, as: UTF8.self) } ?? ""
            #expect(!loaded.lines.joined().contains("hunter2") && !json.contains("hunter2"), "\(loaded.lines)")
        }
        let numeric = load("[plugin.exist]\nclient_secret = 123456789012345678901234567890\n").lines.joined()
        #expect(!numeric.contains("1234"), "\(numeric)")
    }

    @Test func `a reference is the whole value and names a variable or a file`() throws {
        func lines(_ value: String) -> [String] { load("[plugin.exist]\nclient_secret = '\(value)'").lines }
        let loaded = load("[plugin.exist]\nclient_secret = '${file:exist.key}'\nclient_id = '${EXIST_SECRET}'")
        #expect(loaded.lines == [])
        let settings = try #require(loaded.configuration).plugins[0].settings
        #expect(settings["client_secret"]?.secret?.reveal() == "key-from-file")
        #expect(settings["client_id"] == .string("s3cret-of-exist"))
        let start = "hub.conf:2: [plugin.exist] client_secret = <secret>: "
        #expect(lines("${NOT_SET}") == [start + "the environment variable NOT_SET is not set; set it before the start"])
        #expect(lines("${EMPTY}") == [start + "the environment variable EMPTY is not set; set it before the start"])
        #expect(lines("${file:/no}") == [start + "cannot read /no: it cannot be opened"])
        #expect(
            lines("Bearer ${EXIST_SECRET}")
                == [start + "a reference stands alone in its text: \"${NAME}\" or \"${file:PATH}\""])
    }

    @Test func `the process's environment reads files up to 64 KiB`() throws {
        let folder = try TemporaryFolder()
        let file = URL(filePath: folder.path + "/secret")
        let environment = SettingsEnvironment.process()
        try Data("abc\r\n".utf8).write(to: file)
        let text = "[plugin.exist]\nclient_id = '${file:\(file.path)}'\n[hub]\ndata = '/d'\nrun = '/r'"
        #expect(load(text, environment: environment).configuration?.plugins[0].settings["client_id"] == .string("abc"))
        try Data(repeating: 0x61, count: 65_537).write(to: file)
        #expect(load(text, environment: environment).lines.first?.hasSuffix("it is larger than 64 KiB") == true)
        try Data([0xFF, 0xFE]).write(to: file)
        #expect(load(text, environment: environment).lines.first?.hasSuffix("is not UTF-8 text") == true)
    }

    @Test func `a pipe, a folder and a loop of links are refused with the reason and without blocking`() throws {
        let place = try TemporaryFolder()
        let folder = place.path
        try #require(mkfifo(folder + "/pipe", 0o600) == 0)
        try FileManager.default.createSymbolicLink(atPath: folder + "/loop", withDestinationPath: folder + "/loop")
        let read = SettingsEnvironment.process().readFile
        for (path, reason) in [
            (folder + "/pipe", "it is a pipe; name a file"), (folder, "it is a folder"),
            (folder + "/loop", "it cannot be opened: Too many levels of symbolic links"),
        ] {
            let error = #expect(throws: UnreadableFile.self) { try read(path) }
            #expect(error?.reason == reason)
        }
    }
}

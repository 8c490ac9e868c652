import Testing

@testable import HubSettings
@testable import HubWire

/// The files, devices and networks that a plugin's settings and grants let its program reach.
@Suite struct AccessTests {
    private func places(_ type: SettingType, _ access: SettingAccess?, _ value: SettingValue) -> [String] {
        SettingDeclaration("a", type, help: "x", access: access).places(in: value).map {
            "\($0.access.rawValue) \($0.path)"
        }
    }

    @Test func `a path gives read access unless its declaration sets another access`() {
        #expect(places(.path, nil, .string("/a/b")) == ["read /a/b"])
        #expect(places(.path, .folder, .string("/a/b")) == ["folder /a/b"])
        #expect(places(.path, SettingAccess.none, .string("/a/b")) == [])
        #expect(places(.list(of: .path), .write, .list([.string("/a"), .string("/b")])) == ["write /a", "write /b"])
        #expect(places(.string(), nil, .string("/a")) == [])
    }

    @Test func `a link gives access to its device or socket, and an accepting link to its socket's folder`() {
        #expect(places(.string(), .link, .string("serial:///dev/rfcomm0?speed=9600")) == ["write /dev/rfcomm0"])
        #expect(places(.string(), .link, .string("unix-accept:///run/scale/s")) == ["folder /run/scale"])
        #expect(places(.string(), .link, .string("tcp://127.0.0.1:7")) == [])
    }

    @Test func `an access that does not fit its type is a fault`() {
        #expect(
            SettingDeclaration.faults(in: [.init("a", .path, help: "x", access: .link)])
                == ["setting \"a\": access \"link\" is for a string or a url"])
        #expect(
            SettingDeclaration.faults(in: [.init("a", .integer(), help: "x", access: .read)])
                == ["setting \"a\": access \"read\" is for a path"])
    }

    @Test func `R12.11 owner grants in hub conf are checked words, and remote plugins get none`() throws {
        func load(_ section: String, asks: [String]? = ["status", "trace"]) -> LoadedConfiguration {
            HubConfiguration.load(
                text: "[hub]\ndata = \"/d\"\nrun = \"/r\"\ntcp = \"tcp://127.0.0.1:7788\"\n[plugin.a]\n\(section)\n",
                file: "hub.conf", environment: .empty, rights: asks.map { ["a": $0] } ?? [:]
            ) { _, _ in [] }
        }
        let instance = try #require(load("grants = { owner = [\"status\"] }").configuration?.plugins.first)
        #expect(instance.grants.owner == ["status"])
        #expect(load("grants = { owner = [\"*\"] }").problems.isEmpty)
        #expect(
            load("grants = { owner = [\"plugins\"] }", asks: nil).problems.isEmpty,
            "grants are not checked if the plugin's requests are unknown")
        let wrong = load("grants = { owner = [\"stauts\"] }")
        #expect(wrong.refusedInstances == ["a"] && wrong.problems.contains { $0.message.contains("accounts") })
        let needless = load("grants = { owner = [\"trace\", \"plugins\"] }").problems
        #expect(needless.map(\.severity) == [.warning] && needless[0].key == "owner" && needless[0].line == 6)
        #expect(needless[0].found == "\"plugins\"" && needless[0].message.contains("\"status\", \"trace\""))
        let asksNothing = load("grants = { owner = [\"*\"] }", asks: []).problems
        #expect(asksNothing.map(\.severity) == [.warning] && asksNothing[0].message.contains("asks for none"))
        let elsewhere = load("remote = true\ngrants = { write = [\"weight\"], owner = [\"*\"] }")
        #expect(elsewhere.refusedInstances == ["a"])
        #expect(elsewhere.problems.contains { $0.message.contains("that the hub starts on this machine") })
    }

    @Test func `rights are granted in the manifest's order, once each, and only if the manifest asks for them`() {
        #expect(OwnerRight.granted(of: ["trace", "status", "trace"], by: ["*"]) == ["trace", "status"])
        #expect(OwnerRight.granted(of: ["trace", "status"], by: ["status", "plugins"]) == ["status"])
        #expect(OwnerRight.granted(of: ["trace"], by: nil).isEmpty && OwnerRight.granted(of: ["trace"], by: []).isEmpty)
        #expect(OwnerRight.granted(of: ["everything"], by: ["*", "everything"]).isEmpty)
    }

    @Test func `hub conf limits a plugin's reach with checked words`() throws {
        func load(_ grants: String) -> LoadedConfiguration {
            HubConfiguration.load(
                text: "[hub]\ndata = \"/d\"\nrun = \"/r\"\n[plugin.a]\nreadable = [\"/v\"]\n\(grants)\n",
                file: "hub.conf",
                environment: .empty
            ) { _, _ in [] }
        }
        let instance = try #require(load("grants = { reach = [\"network\"] }").configuration?.plugins.first)
        #expect(instance.grants.reach == ["network"] && instance.confinement.readable == ["/v"])
        let wrong = load("grants = { reach = [\"internet\"] }")
        #expect(wrong.refusedInstances == ["a"] && wrong.problems.contains { $0.message.contains("bluetooth") })
    }
}

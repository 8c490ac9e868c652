import HubWire
import PluginKit
import Testing

@Suite struct ServiceAddressTests {
    @Test(arguments: [
        "https://exist.io", "https://api.example.org:8443/openapiv2/", "http://127.0.0.1:8090", "http://localhost:80",
        "http://[::1]:8090", "HTTPS://EXIST.IO",
    ])
    func `https to any host and http to this machine are accepted`(_ text: String) throws {
        #expect(try !ServiceAddress(text).text.hasSuffix("/"))
    }

    @Test(arguments: [
        "http://exist.io", "http://127.0.0.1.example.org", "http://192.168.1.7", "ftp://exist.io", "exist.io",
        "https://",
        "https://user:s3cret@exist.io", "https://exist.io?token=s3cret", "https://exist.io/#s3cret", "",
    ])
    func `any other address is an error of the setting, and is not shown`(_ text: String) throws {
        let error = try #require(throws: PluginFailure.self) { try ServiceAddress(text, setting: "base") }
        #expect(error.exit == .settings && error.message.hasPrefix("setting base: "))
        #expect(!error.message.contains("s3cret"))
    }

    @Test func `http to another machine requires an extra setting`() throws {
        let declared = ServiceAddress.settings(default: "https://exist.io")
        #expect(declared.map(\.name) == ["base", "plain_http"])
        #expect(SettingDeclaration.faults(in: declared).isEmpty)
        let base = SettingValue.string("http://192.168.1.7:8090")
        #expect(throws: PluginFailure.self) { try ServiceAddress(PluginSettings(["base": base])) }
        let allowed = PluginSettings(["base": base, "plain_http": .boolean(true)])
        #expect(try ServiceAddress(allowed).host == "192.168.1.7:8090")
    }
}

import ArgumentParser
import Foundation
import HubClient
import HubCore
import HubSettings
import HubWire
import Samples
import ZeroMQ

struct KeysCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys", abstract: "Manage the keys with which plugins on other machines connect to this hub.",
        discussion: """
            hub.conf has the address for them and the rights of each:

              [hub]
              tcp = "tcp://0.0.0.0:7788"

              [plugin.bedroom-scale]
              remote = true
              kind = "ihealth-hs3"
              grants = { write = ["weight"] }

            Any program with the key can act as that instance: give it to one machine, over
            a safe way, and keep the file at mode 0600. The hub keeps only the public part,
            so a lost key cannot be shown again: make another with --replace.

            Examples:
              hub keys new bedroom-scale > bedroom-scale.key
              hub keys new laptop --address hub.example.net > laptop.key
              hub-ihealth-hs3 --run --key bedroom-scale.key    (on that machine)
              hub keys list
              hub keys revoke bedroom-scale

            Exit codes: 0; 1 there is such a key already, or none; 65 hub.conf does not
            expect the instance; 69 the hub runs and does not answer: it follows the
            change once it does; 71 the keys cannot be read or written.
            """,
        subcommands: [KeysNewCommand.self, KeysListCommand.self, KeysRevokeCommand.self])
}

struct KeysNewCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "new", abstract: "Make a key for an instance, and print its key file once.",
        discussion: """
            The file on stdout is JSON: instance, door, feed (if feed_port is set), and the
            keys in ZeroMQ's form. Give it to a plugin with --key FILE or $HUB_KEY.

            Examples:
              umask 077; hub keys new bedroom-scale > bedroom-scale.key
              hub keys new bedroom-scale | ssh pi 'umask 077; cat > hub.key'
              hub keys new laptop --replace > laptop.key
            """)

    @Argument(help: "The instance: a [plugin.NAME] with remote = true.") var name: String
    @Option(
        help: ArgumentHelp(
            "How the other machine reaches this one; the address of [hub] tcp or this machine's name if not given.",
            valueName: "host"))
    var address: String?
    @Flag(help: "Revoke its present key at once.") var replace = false
    @Flag(help: "On one line.") var json = false
    @OptionGroup var options: ConfigurationOptions

    func validate() throws {
        if let address, address.isEmpty || address.contains(where: { $0.isWhitespace || $0 == "/" }) {
            throw ValidationError("--address takes a name or an address, such as hub.local or 192.168.1.5.")
        }
    }

    func run() throws {
        let configuration = try options.configuration()
        let (endpoint, plugin) = try KeysNewCommand.place(of: name, in: configuration)
        let ring = KeyRing(data: configuration.hub.data)
        let (hub, pair) = try KeysCommand.storing {
            let hub = try ring.hubKeys()
            return (hub, try ring.add(name, replacing: replace, at: HubClock.system.time))
        }
        guard let pair else {
            throw Failure(
                .unhealthy,
                "\(name) has a key already; --replace makes it void and gives another, hub keys revoke ends it")
        }
        let host = address ?? (endpoint.isEverywhere ? ProcessInfo.processInfo.hostName : endpoint.address)
        let file = KeyFile(
            instance: name, door: TCPEndpoint.text(host: host, port: endpoint.port),
            feed: plugin.feedPort.map { TCPEndpoint.text(host: host, port: $0) }, serverKey: hub.publicKey.z85,
            publicKey: pair.publicKey.z85, secretKey: pair.secretKey.z85)
        try Output.json(try KeysNewCommand.text(file, isOneLine: json))
        try KeysCommand.reportToHub(configuration)
        Terminal.complain("this key is shown once; on the other machine: hub-\(plugin.kind) --run --key FILE")
    }

    /// The endpoint to which an instance connects.
    ///
    /// - Throws: ``HubExit/badConfiguration`` with the lines to write, if `hub.conf` does not expect it.
    static func place(
        of name: String, in configuration: HubConfiguration
    ) throws(Failure) -> (TCPEndpoint, PluginInstance) {
        guard let plugin = configuration.plugins.first(where: { $0.name == name }), plugin.isRemote else {
            let has = configuration.plugins.contains { $0.name == name }
            throw Failure(
                .badConfiguration,
                has
                    ? "[plugin.\(name)] of hub.conf runs on this machine; add remote = true to it first"
                    : "hub.conf has no [plugin.\(name)]; add it first: remote = true, kind, and grants (hub keys --help)"
            )
        }
        guard let endpoint = configuration.hub.tcp else {
            throw Failure(
                .badConfiguration, "[hub] of hub.conf has no tcp; add it first, such as tcp = \"tcp://0.0.0.0:7788\"")
        }
        guard !configuration.hub.isInsecure else {
            throw Failure(.badConfiguration, "[hub] of hub.conf has insecure = true: keys are not used")
        }
        return (endpoint, plugin)
    }

    private static func text(_ file: KeyFile, isOneLine: Bool) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        if !isOneLine { encoder.outputFormatting.insert(.prettyPrinted) }
        return String(decoding: try encoder.encode(file), as: UTF8.self)
    }
}

struct KeysListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the instances that have a key, and since when.",
        discussion: """
            Examples:
              hub keys list
              hub keys list --json | jq -r '.[].instance'
            """)

    @Flag(help: "One JSON document.") var json = false
    @OptionGroup var options: ConfigurationOptions

    func run() throws {
        let configuration = try options.configuration()
        let entries = try KeysCommand.storing { try KeyRing(data: configuration.hub.data).entries() }
        if json { return try Output.json(try JSON.line(entries)) }
        guard !entries.isEmpty else { return Terminal.say("no keys: hub keys new NAME makes one") }
        let expected = Set(configuration.plugins.filter(\.comesFromElsewhere).map(\.name))
        try Output.table(["INSTANCE", "SINCE", "PUBLIC KEY", ""], of: entries) { entry in
            [
                entry.instance, entry.created, entry.publicKey,
                expected.contains(entry.instance) ? "" : "hub.conf does not expect it",
            ]
        }
    }
}

struct KeysRevokeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke", abstract: "Make an instance's key void at once, also for connections made with it.",
        discussion: """
            A running hub ends its sessions and connections. At the door all connections
            over the network end, because ZeroMQ cannot end one alone: the other machines
            come back within seconds, and lose nothing.

            Examples:
              hub keys revoke bedroom-scale
              hub keys revoke bedroom-scale --json
            """)

    @Argument(help: "The instance.") var name: String
    @Flag(help: "One JSON document.") var json = false
    @OptionGroup var options: ConfigurationOptions

    private struct Result: Encodable {
        var instance: String
        var revoked: Bool
    }

    func run() throws {
        let configuration = try options.configuration()
        let had = try KeysCommand.storing { try KeyRing(data: configuration.hub.data).remove(name) }
        // Tell the hub even if the file was already gone: it may have missed the last message.
        try KeysCommand.reportToHub(configuration)
        if json { try Output.json(try JSON.line(Result(instance: name, revoked: had))) }
        guard had else {
            throw Failure(.unhealthy, "\(name) has no key; hub keys list shows the instances that have one")
        }
        if !json { try Output.print("\(name): its key is void") }
    }
}

extension KeysCommand {
    /// Has a running hub reload the keys that were changed on disk.
    fileprivate static func reportToHub(_ configuration: HubConfiguration) throws {
        let endpoint = OwnerEndpoints(configuration.hub).door
        guard UnixSocket.presence(endpoint) != .absent else { return }
        _ = try DoorClient(endpoint: endpoint, command: "keys").run(OwnCommands.ReloadKeys())
    }

    fileprivate static func storing<Value>(_ body: () throws -> Value) throws -> Value {
        do { return try body() } catch let error as HubError { throw Failure(.system, error.message) }
    }
}

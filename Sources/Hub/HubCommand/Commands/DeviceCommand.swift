import ArgumentParser
import HealthText
import HubClient
import HubSettings
import HubWire

struct DeviceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device", abstract: "List devices and their state; run a command of a device's plugin.",
        discussion: """
            Without a name it lists the devices that the plugins reported: connected or
            not, battery, last error. After a restart of the hub these are the last known
            states. With the name of a plugin, as hub.conf has it, it lists the plugin's
            commands; with words, it runs one. Words are joined: users list is the plugin's
            command users-list.

            slot gives a person of hub.conf a position on the device of a plugin:
            measurements at that position are that person's. It writes hub.conf, and the
            hub follows; a scale need not be awake.

            Examples:
              hub device
              hub device ihealth-hs5
              hub device ihealth-hs5 users list
              hub device ihealth-hs5 slot anna 3
              hub device ihealth-hs5 users create person=anna

            A device must be awake to be changed: step on the scale when asked.

            Exit codes: 0 done; 1 the plugin failed, does not run, or did not finish in
            time; 64 no such plugin or command, or wrong arguments; 65 another person has
            this position in hub.conf; 69 no hub answers; 71 hub.conf cannot be written;
            75 the plugin or the hub is busy or stopping, or hub.conf has changes that are
            not applied; 130 given up at Ctrl-C.
            """)

    @Argument(help: "The plugin, as hub.conf names it; if not given, the devices are listed.") var name: String?
    @Argument(help: ArgumentHelp("The command, and its arguments as key=value.", valueName: "words"))
    var words: [String] = []
    @Flag(help: "Change nothing; show what would be done.") var dryRun = false
    @OptionGroup var noQuestion: AssumeYesOption
    @OptionGroup var call: CallOptions

    func run() async throws {
        guard let name else { return try list(try DoorClient(endpoint: try call.door, command: "device")) }
        let plugin = try PluginEntry.named(name, try DoorClient(endpoint: try call.door, command: "device"))
        guard !words.isEmpty else { return try plugin.listCommands(json: call.json) }
        if let slot = try SlotRequest(words, of: plugin) {
            return try slot.run(
                try DoorClient(endpoint: try call.door, command: "device", patience: .seconds(60)), isDryRun: dryRun,
                json: call.json)
        }
        let request = try DeviceRequest(words, of: plugin)
        try await call.run(
            PluginCommandCall(
                instance: name, command: request.command, words: request.arguments, isDryRun: dryRun,
                deadline: call.deadline), as: "device")
    }

    private func list(_ door: DoorClient) throws {
        let status = try door.ask(.status, as: HubStatus.self)
        if call.json { return try Output.json(try JSON.line(status.devices)) }
        guard !status.devices.isEmpty else { return Terminal.say("no plugin has reported a device yet") }
        try Output.print(DeviceText.lines(status.devices, colours: Terminal.hasColours))
    }
}

/// A command of a plugin, from the words of the command line.
struct DeviceRequest {
    let command: String
    /// `key=value`.
    let arguments: [String]

    /// - Throws: ``HubExit/usage`` if the plugin has no such command; the message lists its commands.
    init(_ words: [String], of plugin: PluginEntry) throws(Failure) {
        let spoken = words.prefix { !$0.contains("=") }
        let command = spoken.joined(separator: "-")
        (self.command, arguments) = (command, Array(words[spoken.endIndex...]))
        guard let commands = plugin.commands else {
            throw Failure(
                .unhealthy, "the commands of \(plugin.name) are not known: \(plugin.fault ?? "its program did not say")"
            )
        }
        guard !commands.contains(where: { $0.name == command }) else { return }
        let known = commands.map { $0.name.replacing("-", with: " ") }
        let said = spoken.joined(separator: " ")
        let hint =
            nearestName(to: said, among: known).map { "did you mean \($0)?" }
            ?? "its commands: \(known.joined(separator: ", "))"
        throw Failure(.usage, "\(plugin.name) has no \(said.isEmpty ? "such command" : "command \(said)"); \(hint)")
    }
}

/// `hub device NAME slot PERSON POSITION`: a person's position on the device of a plugin, in `hub.conf`.
struct SlotRequest: Equatable {
    let instance, person: String
    let position: Int

    /// Nil for other words, and if the plugin has a command of that name.
    ///
    /// - Throws: ``HubExit/usage`` for anything but a person and a position.
    init?(_ words: [String], of plugin: PluginEntry) throws(Failure) {
        guard words.first == "slot",
            plugin.commands?.contains(where: { $0.name == "slot" || $0.name.hasPrefix("slot-") }) != true
        else { return nil }
        guard words.count == 3, let position = Int(words[2]), (0...19).contains(position) else {
            throw Failure(
                .usage, "expected a person and a position from 0 to 19: hub device \(plugin.name) slot anna 0")
        }
        (instance, person, self.position) = (plugin.name, words[1], position)
    }

    func run(_ door: DoorClient, isDryRun: Bool, json: Bool) throws {
        let name = HubConfiguration.slotPrefix + instance
        try ConfigureCommand.change(
            OwnCommands.Configure(person: person, set: ["\(name)=\(position)"], unset: []),
            [HubConfiguration.configuredSlot(name)?.declaration].compactMap(\.self), door, isDryRun: isDryRun,
            json: json)
    }
}

/// Devices, for people.
enum DeviceText {
    static func lines(_ devices: [HubStatus.DeviceStatus], colours: Bool) -> [String] {
        var table = Table(["DEVICE", "PLUGIN", "STATE", .right("BATTERY"), "LAST HEARD"])
        for device in devices {
            let state = device.connected.map { $0 ? StatusColour.good.paint("connected", colours) : "away" } ?? "-"
            let battery = device.battery.map { "\($0) %" } ?? (device.batteryLow ? "" : "-")
            let heard = device.lastHeard.map { LocalTime.text($0) ?? $0 } ?? "-"
            table.add([
                device.device, device.instance, state,
                device.batteryLow ? StatusColour.bad.paint("\(battery) low".trimmed, colours) : battery, heard,
            ])
        }
        // The last error is a sentence and does not fit a column.
        return zip([nil] + devices, table.takeLines()).flatMap { device, line in
            [line] + (device?.lastError.map { ["  " + StatusColour.bad.paint($0, colours)] } ?? [])
        }
    }
}

extension String {
    fileprivate var trimmed: String { String(drop { $0 == " " }) }
}

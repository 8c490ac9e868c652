import HealthText
import HubClient
import HubCore
import HubWire
import Testing

@testable import HubCommand

/// `hub device`.
@Suite struct DeviceTextTests {
    private let plugin = PluginEntry(
        name: "ihealth-hs5", kind: "ihealth-hs5", enabled: true,
        commands: [CommandDeclaration("users-list", help: "Lists."), CommandDeclaration("users-create", help: "Adds.")])

    @Test func `words are joined to the name of a plugin's command, and words with a value are its arguments`() throws {
        let request = try DeviceRequest(["users", "create", "slot=3", "person=anna"], of: plugin)
        #expect(request.command == "users-create" && request.arguments == ["slot=3", "person=anna"])
        #expect(try DeviceRequest(["users-list"], of: plugin).command == "users-list")
    }

    @Test func `a slot command is three words, unless the plugin has a command of that name`() throws {
        let slot = try #require(try SlotRequest(["slot", "ben", "1"], of: plugin))
        #expect(slot.instance == "ihealth-hs5" && slot.person == "ben" && slot.position == 1)
        #expect(try SlotRequest(["users", "list"], of: plugin) == nil)
        for words in [["slot"], ["slot", "ben"], ["slot", "ben", "20"], ["slot", "1", "ben"]] {
            let failure = try #require(throws: Failure.self) { try SlotRequest(words, of: plugin) }
            #expect(failure.exit == .usage && failure.message.contains("hub device ihealth-hs5 slot anna 0"))
        }
        var own = plugin
        own.commands = [CommandDeclaration("slot-list", help: "Its own.")]
        #expect(try SlotRequest(["slot", "list"], of: own) == nil)
    }

    @Test func `an unknown device command is refused with a list of those the plugin has`() throws {
        let unknown = try #require(throws: Failure.self) { try DeviceRequest(["fly"], of: plugin) }
        #expect(unknown.exit == .usage)
        #expect(unknown.message == "ihealth-hs5 has no command fly; its commands: users list, users create")
        let near = try #require(throws: Failure.self) { try DeviceRequest(["users", "lst"], of: plugin) }
        #expect(near.message == "ihealth-hs5 has no command users lst; did you mean users list?")
    }

    @Test func `the device table shows the battery, and the last error below its device`() throws {
        let heard = try #require(LocalTime.text("2026-03-15T06:30:05Z"))
        let devices = [
            HubStatus.DeviceStatus(
                instance: "ihealth-hs4", device: "020000003001", connected: false, battery: 12, batteryLow: true,
                lastError: "HS4: stand still, movement while measuring (Er7)", lastErrorAt: "2026-03-15T06:30:05Z",
                lastHeard: "2026-03-15T06:30:05Z"),
            HubStatus.DeviceStatus(
                instance: "ihealth-hs5", device: "S5", connected: true, batteryLow: false,
                lastHeard: "2026-03-15T06:30:05Z"),
            HubStatus.DeviceStatus(
                instance: "ihealth-hs3", device: "S3", batteryLow: false, lastError: "no route to it"),
        ]
        #expect(
            DeviceText.lines(devices, colours: false) == [
                "DEVICE        PLUGIN       STATE       BATTERY  LAST HEARD",
                "020000003001  ihealth-hs4  away       12 % low  \(heard)",
                "  HS4: stand still, movement while measuring (Er7)",
                "S5            ihealth-hs5  connected         -  \(heard)",
                "S3            ihealth-hs3  -                 -  -", "  no route to it",
            ])
    }
}

import Foundation
import HealthText
import HubClient
import HubCore
import HubProcess
import HubWire
import ScaleProtocols
import Testing

@testable import HubCommand
@testable import HubDemo

/// `hub status` for scales: simulated ones, their connectors and a hub, each in a separate process.
@Suite(.serialized) struct ScaleStatusTests {
    /// One byte for each error number that a scale can send.
    private func bytes(of model: ScaleModel) -> [(raw: UInt8, error: ScaleError)] {
        let table = ScaleError.defaultTable(of: model)
        return ScaleError.all(of: model).compactMap { error in
            table.filter { $0.value == error.code }.keys.max().map { ($0, ScaleError.sent($0, by: model)) }
        }
    }

    private func status(_ door: String, until isMet: (HubStatus) -> Bool) async throws -> HubStatus {
        let deadline = ContinuousClock.now + .seconds(20)
        while true {
            let status = try await blocking {
                try JSON.answer(HubStatus.self, try DoorClient(endpoint: door, command: "status").ask(.status))
            }
            if isMet(status) { return status }
            try #require(
                ContinuousClock.now < deadline,
                "\(String(describing: status.records)) \(status.accounts) \(status.devices)")
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    @Test func `status shows each error of each model in words with its code, even after a restart`() async throws {
        let folder = try TemporaryFolder()
        let directory = try DemoDirectory.kept(folder.path)
        let clock = "2026-03-02T06:00:00Z@1"
        let network = try ScaleProcess(
            .hs5, link: ["--listen", "udp://127.0.0.1:0"], clock: clock, zone: "UTC", more: ["--users", "1"])
        try directory.write(DemoLife.household, clock: clock, network: try await network.address())
        let hub = try ChildProcess("hub", ["run", "--config", directory.configuration])
        try await hub.line { $0.hasPrefix("hub: ready: ") }
        var scales = [network]
        for scale in [DemoScale.hs3, .hs4] {
            scales.append(
                try ScaleProcess(scale, link: ["--connect", directory.link(of: scale)], clock: clock, zone: "UTC"))
        }
        let door = "ipc://\(directory.path)/run/door"
        let connected = try await status(door) { status in
            status.devices.count == 3 && status.devices.allSatisfy { $0.connected == true }
        }
        #expect(connected.devices.allSatisfy { $0.lastError == nil && !$0.batteryLow })
        for process in scales {
            let model = try #require(ScaleModel(rawValue: process.scale.rawValue))
            let errors = bytes(of: model)
            #expect(errors.count > 5)
            // A refused command is reported to its caller, and is not an error of the scale.
            for (raw, error) in errors where ![.information, .userManagement].contains(error.errorClass) {
                process.type("fail 0x\(String(raw, radix: 16))")
                let told = try await status(door) { status in
                    status.devices.contains { $0.device == process.scale.device && $0.lastError == error.sentence }
                }
                let device = try #require(told.devices.first { $0.device == process.scale.device })
                #expect(device.lastErrorCode == error.code.map(Int64.init))
                #expect(error.sentence.hasPrefix("\(model.rawValue): "))
                let isOnDisplay = raw >= 0xA0
                #expect(!isOnDisplay || error.sentence.contains(/\((Lo|Er[0-9])\)$/), "\(error.sentence)")
                #expect(StatusText(told, colours: false).lines.contains("  \(error.sentence)"))
                let isGrave = [.device, .authorisation].contains(error.errorClass)
                #expect(device.lastErrorSeverity == (isGrave ? "error" : "warning"), "\(error.sentence)")
                #expect(!isGrave || !told.isWell, "exit 1, as long as it is not over")
            }
            // The battery was low, and stays low until a person is weighed.
            let low = try await status(door) { $0.devices.contains { $0.device == process.scale.device } }
            #expect(low.devices.first { $0.device == process.scale.device }?.batteryLow == true)
        }
        for process in scales { await process.end() }
        let before = try await status(door) { $0.devices.allSatisfy { $0.lastError != nil } }
        hub.signal(SIGTERM)
        #expect(await hub.result().code == 0)
        let again = try ChildProcess("hub", ["run", "--config", directory.configuration])
        try await again.line { $0.hasPrefix("hub: ready: ") }
        let after = try await status(door) { _ in true }
        #expect(after.devices.map(\.device) == before.devices.map(\.device))
        #expect(after.devices.allSatisfy { $0.batteryLow && $0.lastError != nil && $0.connected != true })
        let text = try await Programs.hub(["status", "--config", directory.configuration])
        for device in after.devices { #expect(text.output.contains("  \(device.lastError ?? "-")\n")) }
        again.signal(SIGTERM)
        #expect(await again.result().code == 0)
    }

    @Test func `a weighing resolves the error and the low battery`() async throws {
        let folder = try TemporaryFolder()
        let directory = try DemoDirectory.kept(folder.path)
        let clock = "2026-03-02T06:00:00Z@1"
        try directory.write(DemoLife.household, clock: clock, network: "udp://127.0.0.1:9")
        let hub = try ChildProcess("hub", ["run", "--config", directory.configuration])
        try await hub.line { $0.hasPrefix("hub: ready: ") }
        let scale = try ScaleProcess(.hs3, link: ["--connect", directory.link(of: .hs3)], clock: clock, zone: "UTC")
        let door = "ipc://\(directory.path)/run/door"
        _ = try await status(door) { $0.devices.first?.connected == true }
        scale.type("fail Lo")
        _ = try await status(door) { $0.devices.first?.batteryLow == true }
        scale.type("disconnect")
        // A new session resolves the error, because the scale works again; the battery state is unchanged.
        let renewed = try await status(door) { $0.devices.first?.lastError == nil }
        #expect(renewed.devices.first?.batteryLow == true)
        scale.type("step on 62.5")
        _ = try await status(door) { status in
            status.devices.first?.batteryLow == false
                && status.accounts.contains { $0.instance == "ihealth-hs3" && $0.stored == 1 }
        }
        await scale.end()
        hub.signal(SIGTERM)
        #expect(await hub.result().code == 0)
    }
}

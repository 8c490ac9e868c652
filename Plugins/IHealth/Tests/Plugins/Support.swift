import Foundation
import PluginKit
import PluginTesting
import ScaleBench
import ScaleProtocols
import ScaleSimulation
import ScaleStandIns
import Testing

@testable import IHealthHS3
@testable import IHealthHS4
@testable import IHealthHS5

extension ScaleModel {
    /// The plugin of this model, which tries to reach its scale every 5 ms.
    var plugin: any ScalePlugin {
        switch self {
        case .hs3: IHealthHS3(timing: .init(pause: .milliseconds(5)))
        case .hs4: IHealthHS4(timing: .init(pause: .milliseconds(5)))
        case .hs5: IHealthHS5(timing: .init(pause: .milliseconds(5)))
        }
    }

    /// A person's file of settings.
    func file(_ toml: String) -> SettingsFile {
        func declarations<P: ScalePlugin>(_: P) -> [SettingDeclaration] { P.manifest.settings }
        return SettingsFile.load(
            text: toml, file: "my.conf", fileMode: 0o600, environment: .process(),
            declarations: declarations(plugin))
    }

    /// The settings of a file, with the plugin's defaults for all others.
    func settings(_ toml: String) throws -> PluginSettings {
        let file = file(toml)
        return PluginSettings(try #require(file.settings, "\(file.problems)"))
    }

    func setup(_ toml: String) throws -> ScaleSetup { try plugin.setup(try settings(toml)) }
}

extension Sample {
    /// The record as a source writes it.
    var encoded: String {
        var bytes: [UInt8] = []
        RecordEncoder.append(.sample(self), to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension StandInFaults {
    /// A fault as on the command line of the simulator.
    init(_ option: String) throws {
        self.init()
        try FaultOption(option).apply(to: &self)
    }
}

/// A stand-in for a program with any model of scale behind it, at its own port of this machine.
typealias Bridge = StandInScale<HSLDevice>

extension StandInScale where Device == HSLDevice {
    /// The user of a HS5.
    static var user: UInt32 { 1234 }

    convenience init(
        _ model: ScaleModel, profile: HSLDevice.Profile = .init(), faults: StandInFaults = .init()
    ) throws {
        var scale = HSLDevice.Scale(try #require(HSLDeviceID(model, "020000003001")))
        if model == .hs5 { scale.users[0] = Self.user }
        let port = Ports.next()
        try self.init(
            HSLDevice(scale, profile: profile, faults: faults), own: "tcp-accept://127.0.0.1:\(port)",
            link: "hsl://127.0.0.1:\(port)", clock: ScaleBench.clock, zone: ScaleBench.zone)
    }

    /// Lets a person step on the scale as soon as a live weight is awaited.
    func step(on tenths: Int) {
        submit(.weigh(StandInWeighing(tenthsOfKilogram: tenths))) { $0.isMeasuring }
    }
}

extension ScaleBench {
    /// Starts the plugin of a model with settings from the hub, as in a person's settings file.
    func run(_ model: ScaleModel, _ toml: String) async throws -> PluginRun {
        let values = try model.settings(toml).values.mapValues { $0.revealed() }
        let settings = RawJSON(trusted: Array(try JSONEncoder().encode(values)))
        func start<P: ScalePlugin>(_ plugin: P) async -> PluginRun { await run(plugin, settings) }
        return await start(model.plugin)
    }

    /// The result of a command as JSON, or the code and the reason of its failure.
    func ask(_ command: String, _ arguments: String = "{}", dryRun: Bool = false) async throws -> String {
        switch await hub.command(command, try #require(RawJSON(arguments)), isDryRun: dryRun) {
        case .done(let result): result?.text ?? "null"
        case .failed(let code, let reason): "\(code): \(reason)"
        case let other: "\(other)"
        }
    }
}

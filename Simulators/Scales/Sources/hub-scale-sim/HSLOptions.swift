import ArgumentParser
import Platform
import ScaleProtocols
import ScaleStandIns
import ScaleSimulation

/// A scale behind HSL/1, as a phone bridge delivers it.
struct HSLOptions: ParsableArguments {
    @Flag(help: "Speak HSL/1, JSON lines over the link, as a phone bridge does.")
    var hsl = false
    @Option(help: ArgumentHelp("HSL: the token that the connector has as well.", valueName: "text"))
    var token: String?
    @Option(
        help: ArgumentHelp(
            "HSL: the state of the person in the vendor's account, 1 to 8; 1 to 4 allow measuring (HS5: 1 to 3).",
            valueName: "1-8"))
    var authentication = 2
    @Option(
        help: ArgumentHelp(
            "HSL: days without network; the vendor's trial lasts ten.", valueName: "days"))
    var offlineDays: Int?
    @Option(help: ArgumentHelp("The scale's firmware; the HS3's own protocol does not report it.", valueName: "x.y.z"))
    var firmware: String?
    @Option(help: ArgumentHelp("HSL: time between two lines that report an event.", valueName: "duration"))
    var pace = "0s"

    /// Three digits, the only form that a scale can report.
    static func version(_ text: String) throws -> String {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, parts.allSatisfy({ $0.count == 1 && ("0"..."9").contains($0) }) else {
            throw SimulatorError(.usage, "--firmware '\(text)': expected three digits, such as 1.0.2")
        }
        return text
    }

    func device(
        _ model: ScaleModel, _ story: ScaleOptions.Story, users: [HS5Position: UInt32] = [:]
    ) throws -> HSLDevice {
        let text = try ScaleSimulator.Options.deviceId(story.deviceId ?? ScaleOptions.deviceId(of: model))
        guard let id = HSLDeviceID(model, text), let account = UserAuthentication(rawValue: authentication) else {
            throw SimulatorError(.usage, "--authentication takes 1 to 8")
        }
        var scale = HSLDevice.Scale(id)
        if let firmware { scale.firmware = try Self.version(firmware) }
        scale.skewSeconds = story.skewSeconds
        scale.memoryLimit = max(200, story.held.count)
        for (position, serial) in users { scale.users[Int(position.index)] = serial }
        let memory = story.held.compactMap { weighing in
            weighing.time.map { time in
                HSLDevice.Weighing(
                    time, tenthsOfKilogram: weighing.tenthsOfKilogram,
                    composition: model == .hs5
                        ? .invented(tenthsOfKilogram: weighing.tenthsOfKilogram) : nil,
                    user: model == .hs5 ? weighing.user ?? scale.users.compactMap(\.self).first : nil)
            }
        }
        if model == .hs5 { scale.cloud = Array(memory.prefix(1)) }
        var profile = HSLDevice.Profile()
        profile.account = .says(account)
        if let offlineDays {
            guard let since = story.clock.wall.adding(seconds: -86_400 * min(offlineDays, 100_000)) else {
                throw SimulatorError(.usage, "--offline-days takes 0 to 100000")
            }
            profile.account = .offline(since: since)
        }
        if let token {
            guard let secret = HSLToken(token) else { throw SimulatorError(.usage, "--token is empty") }
            profile.token = secret
        }
        profile.seed = (0..<32).map { _ in UInt8.random(in: 0...255) }
        profile.pace = try ValueParser.duration(pace)
        return HSLDevice(scale, memory: memory, profile: profile)
    }
}

extension ScaleOptions {
    /// The default id of a model.
    static func deviceId(of model: ScaleModel) -> String {
        switch model {
        case .hs3: "020000003001"
        case .hs4: "020000004001"
        case .hs5: "020000005001"
        }
    }

    /// An invented key of 32 hex digits; `nil` if there is none.
    static func key(_ text: String?) throws -> ScaleKey? {
        guard let text else { return nil }
        guard text.utf8.count == 32, let bytes = [UInt8](hexadecimal: text), let key = ScaleKey(bytes) else {
            throw SimulatorError(
                .usage, "--test-key: expected 32 hex digits, such as \(String(repeating: "0a", count: 16))")
        }
        return key
    }

    /// Users by position from `11,22` or `11@0,22@3`.
    static func users(_ text: String) throws -> [HS5Position: UInt32] {
        var users: [HS5Position: UInt32] = [:]
        for (place, part) in text.split(separator: ",").enumerated() {
            let sides = part.split(separator: "@", omittingEmptySubsequences: false)
            guard let serial = UInt32(sides[0]), HS5Profile.isSerial(serial), sides.count <= 2,
                let position = sides.count == 2 ? Int(sides[1]) : place, let index = HS5Position(position),
                users[index] == nil, !users.values.contains(serial)
            else {
                throw SimulatorError(
                    .usage, "--users '\(text)': expected numbers, each once, with positions 0 to 19, such as 11,22@3")
            }
            users[index] = serial
        }
        return users
    }
}

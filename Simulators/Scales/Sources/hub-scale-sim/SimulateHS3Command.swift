import ArgumentParser
import ScaleProtocols
import ScaleStandIns
import ScaleSimulation

struct SimulateHS3Command: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hs3",
        abstract: "An iHealth HS3: weight only, a memory of 200 weighings, a serial link.",
        discussion: LongHelp.discussion(
            """
            Try it:
              hub-scale-sim hs3 --listen tcp://127.0.0.1:4711 --memory 3 --play 10

            An ADDRESS is tcp://HOST:PORT or unix:///PATH. With --hsl the same scale is
            behind HSL/1, as an app with the vendor's library would deliver it.
            """, faults: .hs3))

    @OptionGroup var scale: ScaleOptions
    @OptionGroup var bridge: HSLOptions
    @Option(
        help: ArgumentHelp("How hours of weighings are written: sdk12 (the default) or raw24.", valueName: "mode"),
        transform: SimulateHS3Command.choice)
    var hourMode = HS3HourMode.sdk12
    @Option(
        help: ArgumentHelp("How the hour of the clock is written: bcd24 (the default) or bcd12.", valueName: "mode"),
        transform: SimulateHS3Command.choice)
    var clockMode = HS3ClockMode.bcd24
    @Option(help: ArgumentHelp("After how long an unacknowledged frame is repeated.", valueName: "duration"))
    var repeatAfter = "4.8s"

    func run() throws {
        try scale.run {
            let story = try scale.story()
            guard !bridge.hsl else {
                return try scale.options(try scale.stream(), try bridge.device(.hs3, story), story)
            }
            var profile = HS3Device.Profile()
            (profile.hourMode, profile.clockMode) = (hourMode, clockMode)
            profile.skewSeconds = story.skewSeconds
            profile.repeatAfter = try ValueParser.duration(repeatAfter)
            profile.memoryLimit = max(200, story.held.count)
            let held = story.held.compactMap { weighing in
                weighing.time.flatMap {
                    HS3Record($0, tenthsOfKilogram: weighing.tenthsOfKilogram, mode: hourMode)?.key
                }
            }
            let device = HS3Device(profile: profile, memory: held, seed: scale.seed)
            return try scale.options(try scale.stream(), device, story)
        }
    }

    private static func choice<Value: RawRepresentable & CaseIterable>(_ text: String) throws -> Value
    where Value.RawValue == String {
        if let value = Value(rawValue: text) { return value }
        let all = Value.allCases.map(\.rawValue).joined(separator: ", ")
        throw ValidationError("'\(text)' is none of \(all)")
    }
}

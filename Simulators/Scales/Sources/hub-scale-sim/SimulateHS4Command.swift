import ArgumentParser
import ScaleProtocols
import ScaleStandIns
import ScaleSimulation

struct SimulateHS4Command: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hs4",
        abstract: "An iHealth HS4 or HS4S: weight only, also while it settles; a log-in.",
        discussion: LongHelp.discussion(
            """
            Try it:
              hub-scale-sim hs4 --listen tcp://127.0.0.1:4712 --memory 3
              step on 80.4

            An ADDRESS is tcp://HOST:PORT or unix:///PATH. The bytes are those of
            Bluetooth LE, in pieces of 20, each acknowledged; --serial is the HS4S. With
            --hsl the same scale is behind HSL/1, as an app with the vendor's library
            would deliver it.
            """, faults: .hs4, LongHelp.testKey))

    @OptionGroup var scale: ScaleOptions
    @OptionGroup var bridge: HSLOptions
    @Flag(help: "Be a HS4S: whole frames and no acknowledgements, as over a serial port.")
    var serial = false
    @Option(help: ArgumentHelp("A made-up key for the log-in; without one no log-in is needed.", valueName: "hex"))
    var testKey: String?
    @Option(help: ArgumentHelp("After how long an unacknowledged message is repeated.", valueName: "duration"))
    var repeatAfter = "1s"

    func run() throws {
        try scale.run {
            let story = try scale.story()
            guard !bridge.hsl else {
                return try scale.options(try scale.stream(), try bridge.device(.hs4, story), story)
            }
            var profile = HS4Device.Profile()
            profile.link = serial ? .serialPort : .lowEnergy
            profile.key = try ScaleOptions.key(testKey)
            profile.skewSeconds = story.skewSeconds
            if let firmware = bridge.firmware { profile.identity.firmware = try HSLOptions.version(firmware) }
            profile.repeatAfter = try ValueParser.duration(repeatAfter)
            profile.memoryLimit = max(200, story.held.count)
            let held = story.held.compactMap { weighing in
                weighing.time.flatMap { HS4Record($0, tenthsOfKilogram: weighing.tenthsOfKilogram, more: 1) }
            }
            let device = HS4Device(profile: profile, memory: held)
            var options = try scale.options(try scale.stream(), device, story)
            if story.deviceId == nil { options.deviceId = ScaleOptions.deviceId(of: .hs4) }
            return options
        }
    }
}

import ArgumentParser
import Platform
import ScaleProtocols
import ScaleStandIns
import ScaleSimulation

struct SimulateHS5Command: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hs5",
        abstract: "An iHealth HS5: weight and body composition, 20 users, on the network.",
        discussion: LongHelp.discussion(
            """
            Try it:
              hub-scale-sim hs5 --listen udp://127.0.0.1:10000 --users 11,22 --memory 4
              step on 80.4 user 11
              store 62.1 user 22

            The scale waits for datagrams at udp://HOST:PORT. With --hsl it is behind
            HSL/1 (--listen or --connect tcp://HOST:PORT), as an app with the vendor's
            library would deliver it. A weighing of another user than that of the open
            measurement goes into the memory.
            """, faults: .hs5, LongHelp.testKey))

    @OptionGroup var scale: ScaleOptions
    @OptionGroup var bridge: HSLOptions
    @Option(help: ArgumentHelp("The users on the scale: numbers, with positions if you like.", valueName: "11,22@3"))
    var users = "11"
    @Option(help: ArgumentHelp("A made-up key for the log-in; without one no log-in is needed.", valueName: "hex"))
    var testKey: String?
    @Option(help: ArgumentHelp("After how long an unconfirmed message is repeated.", valueName: "duration"))
    var repeatAfter = "0.7s"

    func run() throws {
        try scale.run {
            let places = try ScaleOptions.users(users)
            let serials = places.sorted { $0.key < $1.key }.map(\.value)
            let story = try scale.story(users: serials)
            guard !bridge.hsl else {
                let device = try bridge.device(.hs5, story, users: places)
                return try scale.options(try scale.stream(), device, story)
            }
            guard let listen = scale.listen, scale.connect == nil, !scale.pty else {
                throw SimulatorError(.usage, "a HS5 is on the network: give --listen udp://HOST:PORT, or --hsl")
            }
            var profile = HS5Device.Profile()
            profile.key = try ScaleOptions.key(testKey)
            profile.skewSeconds = story.skewSeconds
            if let firmware = bridge.firmware { profile.identity.firmware = try HSLOptions.version(firmware) }
            profile.repeatAfter = try ValueParser.duration(repeatAfter)
            profile.memoryLimit = max(200, story.held.count)
            let identity = try ScaleSimulator.Options.deviceId(story.deviceId ?? ScaleOptions.deviceId(of: .hs5))
            if let bytes = [UInt8](hexadecimal: identity), let id = HS5SenderID(bytes) { profile.id = id }
            var memory: [UInt32: [HS5Record]] = [:]
            for weighing in story.held {
                guard let time = weighing.time, let user = weighing.user ?? serials.first,
                    let record = HS5Record(
                        time, tenthsOfKilogram: weighing.tenthsOfKilogram,
                        .invented(tenthsOfKilogram: weighing.tenthsOfKilogram))
                else { continue }
                memory[user, default: []].append(record)
            }
            let device = HS5Device(profile: profile, users: places, memory: memory)
            var options = try scale.options(.datagrams(try LinkAddress(listen)), device, story)
            options.deviceId = identity
            return options
        }
    }
}

import ArgumentParser
import FoundationEssentials
import ScaleSimulation

struct SimulateReplayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "A scale that sends the lines of a script, each once the host has sent its part.",
        discussion: """
            A line is the sender (< scale, > host), the milliseconds since the line
            before, and the bytes in hex:

              > 0    b0 03 a6 23 01 ca
              < 51   a0 03 a6 ff 01 a6

            If a host sends something else, that is reported, and the script goes on. Each
            connection gets the script from its beginning.

            Exit codes: 0 ended by quit, SIGTERM, SIGINT, --exit-when-done or --until-eof;
            64 wrong option; 65 wrong script; 69 the link cannot be opened.
            """)

    @Argument(help: "The script.") var file: String
    @OptionGroup var scale: ScaleOptions

    func run() throws {
        try scale.run {
            let text = String(decoding: try ScaleOptions.bytes(of: file), as: UTF8.self)
            let device: ReplayDevice
            do throws(SimulatorError) { device = try ReplayDevice(script: text) } catch {
                throw SimulatorError(.script, "\(file): \(error)")
            }
            let link: ScaleSimulator.Link =
                if let listen = scale.listen, listen.hasPrefix("udp://") { .datagrams(try LinkAddress(listen)) } else {
                    try scale.stream()
                }
            var options = ScaleSimulator.Options(link: link, device: device)
            options.endsWhenDone = scale.exitWhenDone
            return options
        }
    }
}

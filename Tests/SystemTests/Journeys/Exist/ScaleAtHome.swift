import Foundation
import HubProcess
import HubWire
import Samples

/// A simulated HS3 in its own process, which a test controls by typed lines.
final class ScaleAtHome: Sendable {
    private let process: ChildProcess
    private let input: FileHandle

    /// - Parameter memory: weighings that the plugin has not fetched yet.
    init(port: UInt16, in folder: TemporaryFolder, memory: [ExistJudge.WeighIn], clock: HubClock) async throws {
        let entries = memory.map { "{\"kg\": \(Self.kilograms($0.tenths.last ?? 0)), \"at\": \"\($0.time)\"}" }
        let script = try folder.write("{\"memory\": [\(entries.joined(separator: ", "))]}", to: "scale.json")
        let pipe = "\(folder.path)/scale-typed"
        guard mkfifo(pipe, 0o600) == 0 else { throw ExistJourney.Trouble(lines: ["no fifo"]) }
        // A scale's clock has no fractions of a second.
        let time = Timestamp(microseconds: clock.now() / 1_000_000 * 1_000_000)
        let words = [
            Programs.path("hub-scale-sim"), "hs3", "--listen", "tcp://127.0.0.1:\(port)", "--script", script, "--json",
            "--device-id", "020000003001", "--clock", "\(time.text)@\(clock.rate)",
        ]
        process = try ChildProcess(
            "/bin/sh", ["-c", "exec \"$@\" <> \(pipe)", "sh"] + words, environment: ["TZ": "Europe/Berlin"])
        guard let input = FileHandle(forUpdatingAtPath: pipe) else { throw ExistJourney.Trouble(lines: ["no input"]) }
        self.input = input
        guard await !process.lines(count: 1, where: { $0.contains("listening") }).isEmpty else {
            throw ExistJourney.Trouble(lines: process.errorLines)
        }
    }

    private static func kilograms(_ tenths: Int) -> String { "\(tenths / 10).\(tenths % 10)" }

    /// Lets a person step on the scale, now or at a past time of its clock; the plugin need not be connected.
    func step(on weighIn: ExistJudge.WeighIn) throws {
        let text = "step on \(Self.kilograms(weighIn.tenths.last ?? 0)) \(weighIn.time)\n"
        try input.write(contentsOf: Data(text.utf8))
    }
}

import Foundation

/// The rows of the centre: what three hosts acknowledge to 1 and 8 hubs, beside the same rows that a C client gives to one host alone.
extension Bench {
    mutating func central() {
        let names = [1: "central_1_hub_records_per_s", 8: "central_8_hubs_records_per_s"]
        guard wants(names[1] ?? "", names[8] ?? "") else { return }
        let promise = Promise.atLeast(0.5)
        do {
            let lines = try lines(
                place.source("../Tests/Central/bench"), [place.program("central"), "\(min(runs, 3))"])
            for clients in [1, 8] {
                func all(_ who: String) -> [Double] {
                    lines.filter { $0.name == "\(who)_\(clients).records_per_s" }.map(\.value)
                }
                let slow = lines.filter { $0.name == "centre_\(clients).batch_p99_ms" }.map(\.value).max() ?? .nan
                add(
                    row(
                        names[clients] ?? "", "records/s", all("centre"), .success(all("alone")), promise,
                        note:
                            "three hosts and the clients on this one machine; a batch of 500: p99 \(slow.rounded()) ms")
                )
            }
        } catch {
            for name in names.values.sorted() { add(failed(name, "records/s", error, promise)) }
        }
    }

    /// Figures of which each name stands there more than once.
    private func lines(_ program: String, _ arguments: [String]) throws -> [(name: String, value: Double)] {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.standardOutput = output
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw Trouble("\(program) ended with \(process.terminationStatus)")
        }
        return text.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            guard words.count == 2, let value = Double(words[1]) else { return nil }
            return (String(words[0]), value)
        }
    }
}

import Foundation

/// The rows of the centre: the records that three hosts acknowledge to 1 and 8 hubs, compared with the same rows from a C client to one host,
/// and the time and memory of a real hub with the real plugin.
extension Bench {
    mutating func central() {
        let names = [1: "central_1_hub_records_per_s", 8: "central_8_hubs_records_per_s"]
        let (week, idle, resident) = ("central_week_s", "central_idle_mib", "central_resident_mib")
        guard wants(names[1] ?? "", names[8] ?? "", week, idle, resident) else { return }
        let (rate, memory) = (Promise.atLeast(0.5), Promise.below(25))
        do {
            let build = URL(fileURLWithPath: place.hub).deletingLastPathComponent().path
            let lines = try lines(
                place.source("../Tests/Central/bench"), [place.program("central"), "\(min(runs, 3))"],
                environment: ["BUILD": build])
            func all(_ name: String) -> [Double] { lines.filter { $0.name == name }.map(\.value) }
            for clients in [1, 8] {
                // The load of the machine may change meanwhile, so the peer is measured before and after.
                let alone = zip(all("before_\(clients).records_per_s"), all("after_\(clients).records_per_s"))
                    .map { ($0 + $1) / 2 }
                let one = median(zip(all("one_\(clients).records_per_s"), alone).map { $0 / $1 })
                let slow = all("centre_\(clients).batch_p99_ms").max() ?? .nan
                add(
                    row(
                        names[clients] ?? "", "records/s", all("centre_\(clients).records_per_s"),
                        .success(alone), rate,
                        note:
                            "three hosts and the clients on this one machine; take_v2 on the host alone: \((one * 100).rounded() / 100); a batch of 500: p99 \(slow.rounded()) ms"
                    )
                )
            }
            func whole(_ name: String) -> String { all(name).first.map { "\(Int($0.rounded()))" } ?? "?" }
            add(row(week, "s", all("week.seconds"), note: "140,000 records: \(whole("week.records_per_s")) a second"))
            let cost = all("idle.cpu_percent").map { "\(($0 * 10).rounded() / 10)" }.joined()
            let note = "started, connected and delivering in 25; idle \(cost) % of a core"
            add(
                all("idle.least_mib").isEmpty
                    ? failed(idle, "MiB", Trouble("not measured: the reason is above"), memory)
                    : row(idle, "MiB", all("idle.least_mib"), memory, note: note))
            add(
                row(
                    resident, "MiB", all("idle.resident_mib"),
                    note:
                        "\(whole("idle.own_mib")) of them no pages of files; after the week \(whole("week.after_mib"))"
                ))
        } catch {
            for name in names.values.sorted() { add(failed(name, "records/s", error, rate)) }
            add(failed(week, "s", error))
            add(failed(idle, "MiB", error, memory))
            add(failed(resident, "MiB", error))
        }
    }

    /// Runs a program and returns its figures in order; unlike in `figures`, a name may occur more than once.
    private func lines(
        _ program: String, _ arguments: [String], environment: [String: String]
    ) throws -> [(name: String, value: Double)] {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
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

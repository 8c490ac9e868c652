import Foundation

/// The rows of the gap-filler.
extension Bench {
    mutating func days() {
        let names = ["days_vs_pandas", "days_vs_pandas_whole_hours"]
        guard wants(names[0], names[1]) else { return }
        let place = place
        func pandas(_ more: String...) throws -> Double {
            let arguments = [place.source("Programs/days.py"), "300"] + more
            return try figures(try place.python(with: "pandas"), arguments)["persons_per_s"] ?? .nan
        }
        do {
            let measured = try alternate(
                { try figures(place.dayFill, ["1000"])["persons_per_s"] ?? .nan },
                [{ try pandas() }, { try pandas("whole-hours") }])
            for (name, peer) in zip(names, measured.peers) {
                add(row(name, "persons/s", measured.ours, peer, .atLeast(2)))
            }
        } catch {
            for name in names { add(failed(name, "persons/s", error, .atLeast(2))) }
        }
    }

    /// Each run has a hundred late weigh-ins and its own median.
    mutating func lateWeighIn() {
        let name = "late_weighin_to_day_ms"
        guard wants(name) else { return }
        let place = place
        do {
            let measured = try (0..<min(runs, 3)).map { _ in
                try place.withHub(plugins: "[plugin.gap-filler]\nenabled = true\nexecutable = \"\(place.gapFiller)\"") {
                    _ in
                    try place.figure("median_ms", "late", place.door, place.feed, "100")
                }
            }
            add(row(name, "ms", measured, .below(50), note: "30 days each"))
        } catch {
            add(failed(name, "ms", error, .below(50)))
        }
    }
}

/// The rows of statistics, in a store of ten million records.
extension Bench {
    mutating func statistics() {
        let names = (
            "statistics_year_of_weight_ms", "statistics_ten_years_daily_ms", "statistics_latest_of_100_ms",
            "statistics_commits_with_rollups"
        )
        guard wants(names.0, names.1, names.2, names.3) else { return }
        let place = place
        do {
            let folder = place.data.appendingPathComponent("statistics")
            try place.renew(folder)
            defer { try? FileManager.default.removeItem(at: folder) }
            let store = folder.path + "/hub.sqlite"
            let made = try figures(place.storeStatistics, [store, "10000000", "\(runs)"], upTo: 600)
            func row(_ name: String, _ figure: String, _ promise: Promise, _ note: String) -> Row {
                let value = made[figure] ?? .nan
                return Row(
                    name: name, value: value, unit: "ms", promise: promise.text, isMet: promise.isMet(value),
                    note: note,
                    runs: runs)
            }
            add(row(names.0, "year_of_weight_ms", .below(10), "365 of 10 M records"))
            let seconds = (made["rollup_seconds"] ?? .nan).rounded()
            var daily = row(names.1, "ten_years_daily_ms", .below(50), "peer: a scan; kept in \(seconds) s before")
            daily.peer = try median(
                (0..<runs).map { _ in try figures(place.program("scan"), [store])["scan_ms"] ?? .nan })
            daily.ratio = (daily.value ?? .nan) / (daily.peer ?? .nan)
            add(daily)
            add(row(names.2, "latest_of_100_ms", .below(5), "of 10 M records"))
            let (with, without) = (made["commits_with_per_s"] ?? .nan, made["commits_without_per_s"] ?? .nan)
            let (ratio, promise) = (made["commits_ratio"] ?? .nan, Promise.atLeast(0.9))
            add(
                Row(
                    name: names.3, value: with, unit: "records/s", peer: without, ratio: ratio, promise: promise.text,
                    isMet: promise.isMet(ratio), note: "peer: a copy without kept sums", runs: 9))
        } catch {
            add(failed(names.0, "ms", error, .below(10)))
            add(failed(names.1, "ms", error, .below(50)))
            add(failed(names.2, "ms", error, .below(5)))
            add(failed(names.3, "records/s", error, .atLeast(0.9)))
        }
    }
}

extension Place {
    /// A program beside `store-ingest`.
    var storeStatistics: String {
        URL(fileURLWithPath: storeIngest).deletingLastPathComponent().path + "/store-statistics"
    }
    /// A program beside the hub.
    var gapFiller: String { URL(fileURLWithPath: hub).deletingLastPathComponent().path + "/hub-gap-filler" }
    /// A program beside `store-ingest`.
    var dayFill: String { URL(fileURLWithPath: storeIngest).deletingLastPathComponent().path + "/day-fill" }

    /// The path of a file in Benchmarks.
    func source(_ name: String) -> String {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../\(name)")
            .standardizedFileURL.path
    }

    /// The first Python that has a module.
    func python(with module: String) throws -> String {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        for path in (folders + ["/usr/bin"]).map({ "\($0)/python3" })
        where FileManager.default.isExecutableFile(atPath: path) {
            let probe = Process()
            probe.executableURL = URL(fileURLWithPath: path)
            probe.arguments = ["-c", "import \(module)"]
            probe.standardError = FileHandle.nullDevice
            try probe.run()
            probe.waitUntilExit()
            if probe.terminationStatus == 0 { return path }
        }
        throw Trouble("no python3 has \(module)")
    }
}

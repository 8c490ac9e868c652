import Foundation

/// The measurements of each row, which Docs/Benchmarks.md describes.
extension Bench {
    private static let burst = 200
    private static let listeners = 1_000

    mutating func live() {
        let (relay, proxy) = ("live_vs_c_relay", "live_vs_zmq_proxy")
        guard wants(relay, proxy) else { return }
        let place = place
        func through(_ kind: String) throws -> Double {
            try place.withRouter(kind) { door, feed in
                try place.figure("messages_per_s", "live", kind, door, feed, "1", "1", "1")
            }
        }
        do {
            let measured = try alternate(
                {
                    try place.withHub(livePerSecond: 10_000_000) { _ in
                        try place.figure("messages_per_s", "live", "hub", place.door, place.feed, "1", "1", "1")
                    }
                }, [{ try through("relay") }, { try through("proxy") }])
            add(row(relay, "messages/s", measured.ours, measured.peers[0], .atLeast(0.8)))
            add(row(proxy, "messages/s", measured.ours, measured.peers[1]))
        } catch {
            add(failed(relay, "messages/s", error, .atLeast(0.8)))
            add(failed(proxy, "messages/s", error))
        }
    }

    mutating func fanOut() {
        let name = "fanout1000_vs_zmq_proxy"
        guard wants(name) else { return }
        let (place, listeners, burst) = (place, "\(Self.listeners)", "\(Self.burst)")
        do {
            let measured = try alternate(
                {
                    try place.withHub(livePerSecond: 10_000_000) { _ in
                        try place.figure(
                            "deliveries_per_s", "live", "hub", place.door, place.feed, "1", listeners, "0", burst)
                    }
                },
                [
                    {
                        try place.withRouter("proxy") { door, feed in
                            try place.figure(
                                "deliveries_per_s", "live", "proxy", door, feed, "1", listeners, "0", burst)
                        }
                    }
                ])
            add(row(name, "deliveries/s", measured.ours, measured.peers[0]))
        } catch {
            add(failed(name, "deliveries/s", error))
        }
    }

    /// Records in batches of 100, compared with C that commits the same rows in the same sizes; the store alone is measured, too.
    mutating func durable() {
        let (sqlite, store, stream) = ("durable_vs_c_sqlite", "store_only_vs_c_sqlite", "durable_vs_jetstream")
        let mqtt = "durable_vs_mosquitto_qos1"
        guard wants(sqlite, store, stream, mqtt) else { return }
        let place = place
        var perCommit: [Double] = []
        do {
            let measured = try alternate(
                { try place.ingest(200_000, batch: 100) },
                [
                    {
                        let copy = place.data.appendingPathComponent("c")
                        try place.renew(copy)
                        let made = try figures(place.program("sqlite"), [place.store, copy.path + "/c.sqlite"])
                        guard let rate = made["records_per_s"], let size = made["records_per_commit"] else {
                            throw Trouble("sqlite did not print its figures")
                        }
                        perCommit.append(size)
                        return rate
                    },
                    {
                        let copy = place.data.appendingPathComponent("s")
                        try place.renew(copy)
                        let arguments = [place.store, copy.path + "/s.sqlite", "\(Int(perCommit.last ?? 5_000))"]
                        return try figures(place.storeIngest, arguments)["records_per_s"] ?? .nan
                    },
                    { try place.mosquitto(30_000) }, { try place.jetStream(100_000) },
                ])
            let note = "\(Int(median(perCommit))) records per commit"
            add(row(sqlite, "records/s", measured.ours, measured.peers[0], .atLeast(0.7), note: note))
            if case .success(let alone) = measured.peers[1] {
                add(row(store, "records/s", alone, measured.peers[0], note: "the store alone"))
            }
            add(row(mqtt, "records/s", measured.ours, measured.peers[2], .atLeast(2)))
            add(row(stream, "records/s", measured.ours, measured.peers[3], .atLeast(1)))
        } catch {
            add(failed(sqlite, "records/s", error, .atLeast(0.7)))
            add(failed(mqtt, "records/s", error, .atLeast(2)))
            add(failed(stream, "records/s", error, .atLeast(1)))
        }
    }

    /// The hardest case compared with the brokers: every record is a message with its own answer.
    mutating func singles() {
        let (mqtt, stream) = ("single_vs_mosquitto_qos1", "single_vs_jetstream")
        guard wants(mqtt, stream) else { return }
        let place = place
        do {
            let measured = try alternate(
                { try place.ingest(60_000, batch: 1) },
                [{ try place.mosquitto(30_000) }, { try place.jetStream(100_000) }])
            add(row(mqtt, "records/s", measured.ours, measured.peers[0], note: "one record a message"))
            add(row(stream, "records/s", measured.ours, measured.peers[1], note: "one record a message"))
        } catch {
            add(failed(mqtt, "records/s", error))
            add(failed(stream, "records/s", error))
        }
    }

    mutating func batches() {
        alone("batch500_records_per_s", "records/s") { place in try place.ingest(300_000, batch: 500) }
    }

    mutating func latency() {
        let names = ("durable_latency_p50_ms", "durable_latency_p99_ms")
        guard wants(names.0, names.1) else { return }
        do {
            let measured = try place.withHub { _ in
                try (0..<runs).map { run in
                    try figures(place.program("latency"), [place.door, place.feed, "1000", "1000", "\(run * 1_000)"])
                }
            }
            add(row(names.0, "ms", measured.compactMap { $0["p50_ms"] }, .below(2)))
            add(row(names.1, "ms", measured.compactMap { $0["p99_ms"] }, .below(20)))
        } catch {
            add(failed(names.0, "ms", error, .below(2)))
            add(failed(names.1, "ms", error, .below(20)))
        }
    }

    /// A single record beside imports, and imports beside single records.
    mutating func fairness() {
        let (single, together) = ("single_beside_16_importers_p99_ms", "importers16_vs_alone")
        guard wants(single, together) else { return }
        let place = place
        var waits: [Double] = []
        do {
            let measured = try alternate(
                {
                    try place.withHub { _ in
                        let made = try figures(place.program("fair"), [place.door, "16", "30000", "1000"])
                        guard let rate = made["records_per_s"], let wait = made["p99_ms"] else {
                            throw Trouble("fair did not print its figures")
                        }
                        waits.append(wait)
                        return rate
                    }
                },
                [
                    {
                        try place.withHub { _ in
                            try place.figure("records_per_s", "fair", place.door, "16", "30000", "0")
                        }
                    }
                ])
            add(row(single, "ms", waits, .below(20)))
            add(row(together, "records/s", measured.ours, measured.peers[0], .atLeast(0.95)))
        } catch {
            add(failed(single, "ms", error, .below(20)))
            add(failed(together, "records/s", error, .atLeast(0.95)))
        }
    }

    mutating func replay() {
        let name = "replay_records_per_s"
        guard wants(name) else { return }
        do {
            let measured = try place.withHub { _ in
                _ = try place.figure("records_per_s", "source", place.door, "200000", "500")
                return try (0..<runs).map { _ in try place.figure("records_per_s", "replay", place.door, "200000") }
            }
            add(row(name, "records/s", measured))
        } catch {
            add(failed(name, "records/s", error))
        }
    }

    mutating func idle() {
        let (memory, processor) = ("idle_rss_mib", "idle_cpu_percent")
        guard wants(memory, processor) else { return }
        do {
            let (resident, busy) = try place.withHub { hub in
                sleep(2)
                return try idleFigures(of: hub.process.processIdentifier)
            }
            add(row(memory, "MiB", resident, .below(40)))
            add(row(processor, "%", busy, .below(0.2)))
        } catch {
            add(failed(memory, "MiB", error, .below(40)))
            add(failed(processor, "%", error, .below(0.2)))
        }
    }

    private func idleFigures(of hub: Int32) throws -> (resident: [Double], busy: [Double]) {
        var (resident, busy): ([Double], [Double]) = ([], [])
        for _ in 0..<runs {
            let (before, begin) = (try Machine.busyNanoseconds(of: hub), Date())
            sleep(3)
            let spent = Double(try Machine.busyNanoseconds(of: hub) - before)
            busy.append(spent / 1e9 / Date().timeIntervalSince(begin) * 100)
            resident.append(try Machine.residentMiB(of: hub))
        }
        return (resident, busy)
    }

    mutating func ready() {
        alone("ready_ms", "ms", .below(200)) { place in
            try place.prepareHub()
            try? FileManager.default.removeItem(at: place.run.appendingPathComponent("hub"))
            let path = place.run.appendingPathComponent("hub/door").path
            return try place.figure("ready_ms", "ready", place.hub, place.configuration, path)
        }
    }

    private mutating func alone(
        _ name: String, _ unit: String, _ promise: Promise? = nil, _ measure: (Place) throws -> Double
    ) {
        guard wants(name) else { return }
        do {
            add(row(name, unit, try (0..<runs).map { _ in try measure(place) }, promise))
        } catch {
            add(failed(name, unit, error, promise))
        }
    }
}

import Foundation

/// The row of phones: records that are posted, read, stored and answered.
extension Bench {
    mutating func ingestOfPhones() {
        let name = "ingest_hae_records_per_s"
        guard wants(name) else { return }
        let place = place
        let port = 20_000 + Int(getpid()) % 20_000
        // The SHA-256 of "benchmark".
        let hash = "0e89820860c342f2c7ec694d144023b10301c2accdd078cb5167a06d0c3d5bcc"
        do {
            var slowest: [Double] = []
            let measured = try (0..<runs).map { _ in
                try place.withHub(
                    plugins: """
                        [plugin.http-ingest]
                        enabled = true
                        executable = "\(place.httpIngest)"
                        listen = "127.0.0.1:\(port)"
                        tokens = ["bench:0badcafe:\(hash):me"]
                        """
                ) { _ in
                    let python = place.find("python3") ?? "/usr/bin/python3"
                    let made = try figures(
                        python, [place.source("Programs/ingest.py"), "\(port)", "0badcafe.benchmark", "500000"],
                        upTo: 300)
                    slowest.append(made["post_ms"] ?? .nan)
                    return made["records_per_s"] ?? .nan
                }
            }
            let note = "posts of 50,000 points; the slowest took \((slowest.max() ?? .nan).rounded()) ms"
            add(row(name, "records/s", measured, .atLeast(50_000), note: note))
        } catch {
            add(failed(name, "records/s", error, .atLeast(50_000)))
        }
    }
}

extension Place {
    /// A program beside the hub.
    var httpIngest: String { URL(fileURLWithPath: hub).deletingLastPathComponent().path + "/hub-http-ingest" }
}

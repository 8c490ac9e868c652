import Foundation

/// The rows of Apple Health, measured with one export that is made for the run.
extension Bench {
    mutating func appleHealth() {
        let (tags, reader) = ("apple-health_tags_vs_expat", "apple-health_reader_records_per_s")
        let (whole, peak) = ("apple-health_import_vs_healthkit_to_sqlite", "apple-health_import_peak_mib")
        guard wants(tags, reader, whole, peak) else { return }
        let (place, records) = (place, records)
        let file = place.data.appendingPathComponent("export.xml").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        do {
            let made = try figures(place.program("export"), [file, "\(records)"], upTo: 600)
            let size = "\(Int((made["bytes"] ?? 0) / 1e6)) MB"
            let tokens = try alternate(
                { try figures(place.appleRead, ["tags", file], upTo: 600)["mb_per_s"] ?? .nan },
                [{ try figures(place.program("expat"), [file], upTo: 600)["mb_per_s"] ?? .nan }])
            add(row(tags, "MB/s", tokens.ours, tokens.peers[0], .atLeast(1), note: "expat: handlers that do nothing"))
            let read = try (0..<min(3, runs)).map { _ in
                try figures(place.appleRead, ["records", file], upTo: 600)["records_per_s"] ?? .nan
            }
            add(row(reader, "records/s", read, note: "without a hub"))
            var most = 0.0
            // The peer takes minutes, so two runs are enough.
            let imports = try Bench(place: place, only: only, runs: min(2, runs), records: records).alternate(
                {
                    try place.withHub { _ in
                        let took = try figures(
                            place.program("peak"),
                            [place.hub, "import", file, "--config", place.configuration], upTo: 3_600)
                        most = max(most, took["peak_mib"] ?? .nan)
                        return Double(records) / (took["seconds"] ?? .nan)
                    }
                }, [{ try place.healthkitToSQLite(file, records) }])
            add(row(whole, "records/s", imports.ours, imports.peers[0], .atLeast(5), note: size))
            add(row(peak, "MiB", [most], .below(200), note: "of hub import, \(size)"))
        } catch {
            add(failed(whole, "records/s", error, .atLeast(5)))
        }
    }
}

extension Place {
    /// A program beside `store-ingest`.
    var appleRead: String {
        URL(fileURLWithPath: storeIngest).deletingLastPathComponent().path + "/apple-read"
    }

    /// Returns the records a second of `healthkit-to-sqlite` from PyPI, which is installed into a folder that only the benchmark uses.
    func healthkitToSQLite(_ file: String, _ records: Int) throws -> Double {
        let folder = data.deletingLastPathComponent().appendingPathComponent("python-bench").path
        if !FileManager.default.fileExists(atPath: folder + "/healthkit_to_sqlite") {
            _ = try figures(
                try python(with: "pip"),
                [
                    "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--root-user-action", "ignore",
                    "--target", folder, "healthkit-to-sqlite==1.0.1",
                ], upTo: 300)
        }
        let base = data.appendingPathComponent("healthkit.db").path
        for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: base + end) }
        defer { try? FileManager.default.removeItem(atPath: base) }
        let took = try figures(
            program("peak"),
            [
                try python(with: "pip"), "-c",
                "import sys; sys.path.insert(0, sys.argv.pop(1)); from healthkit_to_sqlite.cli import cli; cli()",
                folder, file, base, "--xml", "-s",
            ], upTo: 3_600)
        return Double(records) / (took["seconds"] ?? .nan)
    }
}

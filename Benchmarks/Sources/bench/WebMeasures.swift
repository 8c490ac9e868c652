import Foundation

/// The rows of the page: the times that a browser waits, and the memory and processor time, with ten million records.
extension Bench {
    mutating func web() {
        let promises: [(name: String, figure: String, unit: String, promise: Promise?)] = [
            ("web_page_p95_ms", "page_p95_ms", "ms", .below(100)), ("web_page_kb", "page_kb", "kB", .below(150)),
            ("web_first_paint_ms", "paint_ms", "ms", .below(300)), ("web_idle_mib", "idle_mib", "MiB", .below(40)),
            ("web_after_pages_mib", "after_mib", "MiB", nil),
            ("web_streams_cpu_percent", "streams_cpu_percent", "%", .below(1)),
            ("web_message_to_200_ms", "message_ms", "ms", .below(5)),
        ]
        guard promises.contains(where: { wants($0.name) }) else { return }
        let place = place
        let port = 20_000 + Int(getpid()) % 20_000
        do {
            let made = try place.withHub(
                plugins: """
                    [plugin.web]
                    enabled = true
                    executable = "\(place.web)"
                    listen = "127.0.0.1:\(port)"
                    grants = { owner = ["*"] }
                    """,
                fill: {
                    _ = try figures(place.storeStatistics, [$0, "10000000", "0"], upTo: 1_200)
                    try place.forget(place.web)
                }
            ) { _ in
                let python = place.find("python3") ?? "/usr/bin/python3"
                let driver = place.find("chromedriver").map { [$0] } ?? []
                let arguments = [place.source("Programs/web.py"), place.hub, place.configuration] + driver
                return try figures(python, arguments, upTo: 600)
            }
            for (name, figure, unit, promise) in promises {
                let value = made[figure]
                let note =
                    value == nil
                    ? "not measured: chromedriver or streams are missing" : "of 10 M records, the slowest page"
                add(
                    Row(
                        name: name, value: value, unit: unit, promise: promise?.text,
                        isMet: value.flatMap { promise?.isMet($0) },
                        note: figure.hasPrefix("page") || value == nil ? note : nil, runs: 1))
            }
        } catch {
            for (name, _, unit, promise) in promises { add(failed(name, unit, error, promise)) }
        }
    }
}

extension Place {
    /// A program beside the hub.
    var web: String { URL(fileURLWithPath: hub).deletingLastPathComponent().path + "/hub-web" }

    /// Removes a program's file from the page cache, as after a restart of the machine.
    ///
    /// Linux also maps the cached pages around each page that is used. For a program that was just built, it counts a sixth more memory as resident.
    func forget(_ program: String) throws {
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: program))
        defer { try? file.close() }
        guard fsync(file.fileDescriptor) == 0, posix_fadvise(file.fileDescriptor, 0, 0, POSIX_FADV_DONTNEED) == 0
        else { throw Trouble("\(program) cannot be removed from the page cache") }
    }
}

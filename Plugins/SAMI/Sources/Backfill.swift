import CloudClient
import Foundation
import PluginKit
import Synchronization

/// `hub backfill sami`: reads the history of the devices, with progress and an estimate.
struct Backfill: Sendable {
    let call: CommandCall
    let parts: SAMI.Parts

    struct Report: Encodable, Sendable {
        struct Device: Encodable, Sendable {
            var name: String
            /// The day of the first message; nil if there is none.
            var from: String?
            /// Number of records that were new to the hub.
            var new: Int?
        }
        var devices: [Device]
        /// In a dry run: the approximate number of calls to the service.
        var calls: Int?
        /// In a dry run: the minimum duration, from the service's limits and its response time.
        var takes: String?
    }

    private struct Part {
        let device: ServiceDevice
        let outlook: Importer.ImportRange?
    }

    func run() async throws -> Report {
        let since = try call.arguments["since"]?.string.map {
            try parts.importer.settings.start(of: $0) / 1_000
        }
        let wanted = call.arguments["device"]?.string
        let devices = try await parts.importer.devices().filter {
            wanted == nil || $0.id == wanted || $0.name == wanted
        }
        guard !devices.isEmpty else {
            throw CommandFailure("device", "there is no such device; hub do \(call.hub.instance) look shows them")
        }
        var work: [Part] = []
        for device in devices {
            work.append(Part(device: device, outlook: try await parts.importer.outlook(of: device, since: since ?? 0)))
        }
        return call.isDryRun ? plan(work) : try await read(work, since)
    }

    private func plan(_ work: [Part]) -> Report {
        let outlooks = work.compactMap(\.outlook)
        let calls = outlooks.reduce(0) { $0 + $1.calls }
        let time = CallEstimate(calls: calls).time(
            parts.account.watch.limiter.allowances, at: call.hub.clock.now(),
            each: outlooks.map(\.each).max() ?? .zero)
        return Report(
            devices: work.map { .init(name: $0.device.name, from: $0.outlook.map { Self.text($0.start) }) },
            calls: calls, takes: calls > 0 ? "about \(CallEstimate.words(time))" : nil)
    }

    private func read(_ work: [Part], _ since: Int64?) async throws -> Report {
        var report = Report(devices: [])
        let total = work.reduce(0) { $0 + ($1.outlook.map { $0.end - $0.start } ?? 0) }
        var (done, pages) = (Int64(0), 0)
        let began = call.hub.clock.now()
        for part in work {
            guard let outlook = part.outlook else {
                report.devices.append(.init(name: part.device.name))
                continue
            }
            let length = outlook.end - outlook.start
            let (before, pagesBefore) = (done, pages)
            let last = Mutex(0)
            // Use the given start as the key for resuming; the first message may be another one next time.
            let new = try await parts.importer.backfill(part.device, from: since ?? 0) { [self] reached, page in
                last.withLock { $0 = page }
                let covered = before + max(0, min(reached - outlook.start, length))
                tell(part.device, reached, covered, of: total, pagesBefore + page, began)
            }
            done += length
            pages += last.withLock { $0 }
            report.devices.append(.init(name: part.device.name, from: Self.text(outlook.start), new: new))
        }
        return report
    }

    /// Reports the progress as the share of the time covered, because the service does not give the number of messages.
    private func tell(
        _ device: ServiceDevice, _ reached: Int64, _ done: Int64, of total: Int64, _ pages: Int, _ began: Int64
    ) {
        let day = Timestamp(microseconds: reached * 1_000, offsetMinutes: 0).localDate.text
        var text = "up to \(day)"
        if done > 0, done < total {
            let share = Double(total - done) / Double(done)
            let now = call.hub.clock.now()
            let time = CallEstimate(calls: Int((Double(pages) * share).rounded(.up))).time(
                parts.account.watch.limiter.allowances, at: now,
                each: .microseconds((now - began) / Int64(max(1, pages))))
            text += ", about \(CallEstimate.words(time)) left"
        }
        call.progress(done / 1_000, of: total / 1_000, "\(text), \(device.name)")
    }

    private static func text(_ time: Int64) -> String {
        Timestamp(microseconds: time * 1_000, offsetMinutes: 0).text
    }
}

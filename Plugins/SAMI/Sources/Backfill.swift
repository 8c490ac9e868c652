import Foundation
import PluginKit

/// `hub do sami backfill`: the history of the devices, with progress and an estimate.
struct Backfill: Sendable {
    let call: CommandCall
    let importer: Importer

    struct Report: Encodable, Sendable {
        struct Device: Encodable, Sendable {
            var name: String
            /// From when on; nil when it has no messages.
            var from: String?
            /// Records that the hub did not have.
            var new: Int?
        }
        var devices: [Device]
    }

    func run() async throws -> Report {
        let since = try call.arguments["since"]?.string.map {
            try Timestamp(parsing: "\($0)T00:00:00Z").microseconds / 1_000
        }
        let wanted = call.arguments["device"]?.string
        let devices = try await importer.devices().filter {
            wanted == nil || $0.id == wanted || $0.name == wanted
        }
        guard !devices.isEmpty else {
            throw CommandFailure("device", "there is no such device; hub do \(call.hub.instance) look shows them")
        }
        var report = Report(devices: [])
        for device in devices {
            guard let first = try await importer.beginning(of: device) else {
                report.devices.append(.init(name: device.name))
                continue
            }
            let start = max(first, since ?? first)
            var row = Report.Device(
                name: device.name, from: Timestamp(microseconds: start * 1_000, offsetMinutes: 0).text)
            if !call.isDryRun {
                let began = ContinuousClock.now
                let end = max(start + 1, call.hub.clock.now() / 1_000)
                row.new = try await importer.backfill(device, from: start) { [call] reached in
                    tell(call, device, start, reached, end, began)
                }
            }
            report.devices.append(row)
        }
        return report
    }

    /// The service does not say how many messages there are: the share is of the time they cover.
    private func tell(
        _ call: CommandCall, _ device: ServiceDevice, _ start: Int64, _ reached: Int64, _ end: Int64,
        _ began: ContinuousClock.Instant
    ) {
        let (done, total) = (max(0, min(reached, end) - start), end - start)
        let elapsed = (ContinuousClock.now - began) / .seconds(1)
        let left = done > 0 ? elapsed * Double(total - done) / Double(done) : 0
        let day = Timestamp(microseconds: reached * 1_000, offsetMinutes: 0).localDate.text
        let estimate = done > 0 && left >= 1 ? ", about \(Self.words(left)) left" : ""
        call.progress(done / 1_000, of: total / 1_000, "\(device.name): up to \(day)\(estimate)")
    }

    private static func words(_ seconds: Double) -> String {
        switch seconds {
        case ..<90: "\(Int(seconds.rounded())) s"
        case ..<5_400: "\(Int((seconds / 60).rounded())) min"
        default: "\(Int((seconds / 3_600).rounded())) h"
        }
    }
}

import HealthText
import HubClient
import HubStore

/// Stores and their failures in words.
enum StoreText {
    /// One line: `1,042 records, newest k7qz2m5a-1042, last stored 2026-03-15 07:30:05 +01:00, 1.2 MB`.
    static func summary(_ store: StoreSummary) -> String {
        var text = "\(NumberText.count(store.records, "record")), newest \(store.epoch)-\(store.head)"
        if let newest = store.newest { text += ", last stored \(LocalTime.text(newest))" }
        return text + ", \(size(store.bytes))"
    }

    static func size(_ bytes: Int64) -> String {
        let units = ["B", "kB", "MB", "GB", "TB"]
        var (value, unit) = (Double(bytes), 0)
        while value >= 1_000, unit < units.count - 1 { (value, unit) = (value / 1_000, unit + 1) }
        let tenths = (value * 10).rounded() / 10
        return unit == 0 ? "\(bytes) B" : "\(NumberText.shortest(tenths)) \(units[unit])"
    }

    static func failure(_ error: StoreError) -> Failure {
        let exit: HubExit =
            switch error.code {
            case .locked, .busy, .changed: .tryAgain
            case .interrupted: .interrupted
            case .corrupt, .foreign, .newerSchema: .notWell
            case .exists, .missing: .usage
            case .internalFault: .fault
            default: .system
            }
        // A backup has its name when it is whole; the name of the draft says nothing to people.
        return Failure(
            exit,
            error.message.replacing(/\.(sqlite|increment)(\.age)?\.part\b/) { $0.output.0.dropLast(".part".count) })
    }
}

import HealthText
import HubClient
import HubStore

/// Describes stores and their failures in words.
enum StoreText {
    /// One line: `1,042 records, newest k7qz2m5a-1042, last stored 2026-03-15 07:30:05 +01:00, 1.2 MB`.
    static func summary(_ store: StoreSummary) -> String {
        var text = "\(NumberText.count(store.records, "record")), newest \(store.epoch)-\(store.head)"
        if let newest = store.newest { text += ", last stored \(LocalTime.text(newest))" }
        return text + ", \(NumberText.bytes(store.bytes))"
    }

    static func failure(_ error: StoreError) -> Failure {
        let exit: HubExit =
            switch error.code {
            case .locked, .busy, .changed: .tryAgain
            case .interrupted: .interrupted
            case .corrupt, .foreign, .newerSchema: .unhealthy
            case .exists, .missing: .usage
            case .internalFault: .fault
            default: .system
            }
        // A backup gets its name when it is complete; the name of the draft means nothing to people.
        return Failure(
            exit, error.message.replacing(/\.sqlite(\.age)?\.part\b/) { $0.output.0.dropLast(".part".count) })
    }
}

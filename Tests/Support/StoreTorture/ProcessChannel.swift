import HubStore
import Samples

/// A sink that answers at once: mostly with success, sometimes with a receipt, a retry or a refusal.
actor ProcessChannel {
    private static let id = SinkID(instance: "torture", want: "all")
    private let store: Store
    private var position: Int64

    init(_ store: Store) async throws {
        self.store = store
        let state = try await store.openSink(
            ProcessChannel.id, SinkTerms(target: .init(plugin: "courier")), from: .beginning, recordedAt: 0)
        position = state.cursor.sequence
    }

    /// Takes a page and answers it; returns a line for each delivery after its answer is confirmed.
    func run() async throws -> String {
        let page = try await store.deliveries(
            of: ProcessChannel.id, after: position, limits: DeliveryLimits(records: 500), inFlight: [], at: 1_000)
        position = page.position
        var lines = ""
        let answers = page.records.map { record in
            let result: SinkResult =
                switch record.number % 11 {
                case 0: .refused(reason: "no")
                // Due at once: its row makes the store give it out again.
                case 1 where record.sequence % 3 == 0: .retry(at: 1_000, reason: "busy")
                case 2: .delivered(receipt: "r\(record.number)")
                default: .delivered()
                }
            if case .delivered = result { lines += "settled \(record.number) \(record.sequence)\n" }
            return SinkAnswer(number: record.number, sequence: record.sequence, result: result)
        }
        try await store.settle(
            [SinkSettlement(sink: ProcessChannel.id, answers: answers, reached: position)], recordedAt: 1_000)
        return lines
    }
}

import HubClient
package import HubWire
import JSON
package import PluginKit
import Synchronization

/// Writes deliveries as lines, and reads the answers to them from lines.
package final class LineSink: Sendable {
    /// A DELIVER, whose records the program answers one by one.
    private final class Batch: Sendable {
        private struct State {
            var results: [DeliveryResult?]
            var waiter: CheckedContinuation<Void, Never>?
            var wait: Duration?
        }
        private let state: Mutex<State>

        init(_ count: Int) { state = Mutex(State(results: Array(repeating: nil, count: count))) }

        /// The delay for records answered `later` without a time; all records of a batch get the same delay.
        func wait(_ next: () -> Duration) -> Duration {
            state.withLock { state in
                let wait = state.wait ?? next()
                state.wait = wait
                return wait
            }
        }

        func answer(_ index: Int, _ result: DeliveryResult) {
            let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
                state.results[index] = result
                return state.results.contains { $0 == nil } ? nil : state.waiter.take()
            }
            waiter?.resume()
        }

        /// Waits until all records are answered or the task is cancelled; unanswered records are delivered again.
        func results() async -> [DeliveryResult] {
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    let isOver = state.withLock { state in
                        let isOver = Task.isCancelled || !state.results.contains { $0 == nil }
                        if !isOver { state.waiter = continuation }
                        return isOver
                    }
                    if isOver { continuation.resume() }
                }
            } onCancel: {
                giveUp()
            }
            return state.withLock { $0.results.map { $0 ?? .retry(after: 0, reason: "the program gave no answer") } }
        }

        func giveUp() { state.withLock { $0.waiter.take() }?.resume() }
    }

    private struct State {
        var last = 0
        var open: [Int: (batch: Batch, index: Int)] = [:]
        var isOver = false
        var backOff = BackOff.ofDeliveries
    }

    private let output: LineWriter
    private let state = Mutex(State())

    package init(_ output: LineWriter) { self.output = output }

    /// Writes a delivery, and returns the program's answer to each record.
    package func deliver(_ records: [DeliveredRecord]) async -> [DeliveryResult] {
        let batch = Batch(records.count)
        let (first, isOver) = state.withLock { state in
            let first = state.last + 1
            state.last += records.count
            if !state.isOver { for index in records.indices { state.open[first + index] = (batch, index) } }
            return (first, state.isOver)
        }
        guard !isOver else { return records.map { _ in .retry(after: 0, reason: "the program has ended") } }
        let lines = zip(first..., records).map { number, record in
            Array("{\"delivery\":\(number),\"record\":\(record.json)}".utf8)
        }
        do { try await output.write(raw: lines) } catch { end() }
        let results = await batch.results()
        state.withLock { state in
            for index in records.indices { state.open[first + index] = nil }
            if results.contains(where: { if case .delivered = $0 { true } else { false } }) { state.backOff.reset() }
        }
        return results
    }

    /// Ends all open deliveries, because no more answers come; unanswered records are delivered again.
    package func end() {
        let open = state.withLock { state in
            state.isOver = true
            return state.open.values.map(\.batch)
        }
        for batch in open { batch.giveUp() }
    }

    /// Takes an answer: `{"delivery":7,"result":"delivered"}`.
    /// - Returns: a message if the answer is invalid.
    package func answer(_ text: RawJSON, line: Int) -> String? {
        guard let answer = JSONTree(text.bytes), let number = answer["delivery"]?.integer else {
            return "line \(line): delivery: expected the number that the delivery had"
        }
        var result: DeliveryResult
        var saysWhen = true
        let reason = answer["reason"]?.text
        switch answer["result"]?.text {
        case "delivered": result = .delivered(receipt: answer["receipt"]?.text)
        case "failed": result = .refused(reason: reason ?? "the program said failed, without a reason")
        case "later":
            let after = answer["after"]
            guard after == nil || after?.integer != nil else {
                return "line \(line): after: expected milliseconds, a whole number"
            }
            saysWhen = after != nil
            result = .retry(after: after?.integer.map { Int64($0) } ?? 0, reason: reason)
        case "auth": result = .unauthorized(reason: reason ?? "the program said auth, without a reason")
        default: return "line \(line): result: expected delivered, failed, later or auth"
        }
        guard let place = state.withLock({ $0.open.removeValue(forKey: number) }) else {
            return "line \(line): delivery \(number) is not open: it was answered, or is being given again"
        }
        if !saysWhen {
            let wait = place.batch.wait { state.withLock { $0.backOff.next() } }
            result = .retry(after: Int64(wait / .milliseconds(1)), reason: reason)
        }
        place.batch.answer(place.index, result)
        return nil
    }
}

/// `hub bridge sink`: one subscription, whose deliveries a program answers line by line.
package final class SinkBridge: Sendable {
    private let input: LineReader
    private let output: LineWriter
    private let request: WantRequest
    private let untilCaughtUp: Bool
    private let state = Mutex((failure: PluginFailure?.none, faults: 0))

    package init(_ request: WantRequest, untilCaughtUp: Bool, _ input: LineReader, _ output: LineWriter) {
        (self.request, self.untilCaughtUp, self.input, self.output) = (request, untilCaughtUp, input, output)
    }

    /// Why the hub refused the subscription.
    package var failure: PluginFailure? { state.withLock(\.failure) }
    /// Why the answers could not be read to their end.
    package var readFault: String? { input.failure }
    /// Lines that were not answers.
    package var faults: Int { state.withLock(\.faults) }

    package func run(_ link: HubLink) async throws {
        let sink = LineSink(output)
        // A separate task, so that the program can still answer open deliveries while this task is being stopped.
        let reading = Task { [self] in
            await readAnswers(for: sink)
            sink.end()
            await link.finishDeliveries(within: .zero)
        }
        do throws(PluginFailure) { try await link.serve([request], untilCaughtUp: untilCaughtUp, sink.deliver) } catch {
            state.withLock { $0.failure = error }
        }
        reading.cancel()
        await reading.value
    }

    private func readAnswers(for sink: LineSink) async {
        while let lines = await input.next() {
            for line in lines {
                let fault: String?
                switch BridgeLine(line) {
                case .nothing: fault = nil
                case .other("delivery", let answer): fault = sink.answer(answer, line: line.number)
                case .fault(let reason): fault = reason
                default:
                    fault =
                        "line \(line.number) is not an answer to a delivery: "
                        + #"{"delivery":7,"result":"delivered"}, or failed or later with a reason"#
                }
                guard let fault else { continue }
                state.withLock { $0.faults += 1 }
                guard (try? await output.write([BridgeAnswer.fault(fault, line: line.number)])) != nil else { return }
            }
        }
    }
}

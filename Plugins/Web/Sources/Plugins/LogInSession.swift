import Foundation
import PluginKit
import Synchronization

/// One log-in: passes questions of a plugin's command `login` to a browser, and the person's answers back.
actor LogInSession {
    enum State: Sendable {
        case working
        /// Each question has a number, so that a form that is sent twice does not answer the next question.
        case asking(CommandQuestion, Int)
        case ended
    }

    enum Outcome: Sendable {
        /// The user at the service, if the plugin has named one.
        case loggedIn(String?)
        /// The reason, in words.
        case failed(String)
        /// There was no answer, so the plugin may still have its token.
        case unknown(String)
        /// It was cancelled, or the person did not answer in time.
        case givenUp
    }

    nonisolated let instance: String
    /// The hash of the session or token that leads it; no other sees the questions or answers them.
    nonisolated let session: String
    private nonisolated let ending = Mutex<Outcome?>(nil)
    private(set) var state = State.working { didSet { tell() } }
    private var work: Task<Void, Never>?
    private var waiter: CheckedContinuation<RawJSON, any Error>?
    private var questions = 0
    /// The last question has no answer yet.
    private var waitsForPerson = false
    /// Callers that wait for the next question or the end.
    private var watchers: [CheckedContinuation<Void, Never>] = []

    /// The time limit of `hub login`.
    private static let time = Duration.seconds(600)

    init(instance: String, session: String) { (self.instance, self.session) = (instance, session) }

    /// The outcome; nil before the end.
    nonisolated var outcome: Outcome? { ending.withLock { $0 } }
    nonisolated var isOver: Bool { outcome != nil }

    private struct Result: Decodable { var account, user: String? }

    func begin(_ hub: PluginContext, _ arguments: [String: SettingValue]) {
        // It may have been cancelled before it began.
        guard !isOver else { return }
        work = Task {
            do {
                let result = try await hub.command(
                    "login", of: instance, arguments, deadline: Self.time, answering: { try await self.ask($0) })
                let told = try? JSONDecoder().decode(Result.self, from: Data(result?.bytes ?? []))
                end(.loggedIn(told?.user ?? told?.account))
            } catch let failure as CommandFailure {
                let isLate = failure.code == "deadline" && waitsForPerson
                end(isLate ? .givenUp : failure.isUnanswered ? .unknown(failure.message) : .failed(failure.message))
            } catch let error as AskError {
                end(error.code == .refused ? .failed(error.message) : .unknown(error.message))
            } catch { end(.givenUp) }
        }
    }

    private func end(_ outcome: Outcome) {
        guard !isOver else { return }
        ending.withLock { $0 = outcome }
        state = .ended
    }

    private func ask(_ question: CommandQuestion) async throws -> RawJSON {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                guard !Task.isCancelled else { return continuation.resume(throwing: CancellationError()) }
                waiter = continuation
                (questions, waitsForPerson) = (questions + 1, true)
                state = .asking(question, questions)
            }
        } onCancel: {
            Task { await self.drop() }
        }
    }

    private func drop() {
        waiter?.resume(throwing: CancellationError())
        waiter = nil
        if case .asking = state { state = .working }
    }

    /// - Returns: false if that question is no longer open.
    func answer(_ text: String, to question: Int) -> Bool {
        guard case .asking(_, question) = state, let waiter else { return false }
        (self.waiter, waitsForPerson) = (nil, false)
        state = .working
        waiter.resume(returning: RawJSON(trusted: Self.json(text)))
        return true
    }

    private static func json(_ text: String) -> [UInt8] {
        Array((try? JSONEncoder().encode(text)) ?? Data("\"\"".utf8))
    }

    /// Returns when the plugin asks something or has ended, or after `time`.
    func change(within time: Duration) async {
        // A time-out is not an error here.
        try? await HubTimeLimit.run(time) { await self.change() }
    }

    private func change() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                guard case .working = state, !Task.isCancelled else { return continuation.resume() }
                watchers.append(continuation)
            }
        } onCancel: {
            Task { await self.tell() }
        }
    }

    /// Wakes the waiting callers, each once.
    private func tell() {
        for watcher in watchers { watcher.resume() }
        watchers = []
    }

    func cancel() {
        end(.givenUp)
        work?.cancel()
    }
}

/// The log-ins in progress, led by a page or a program: one for each instance, and a limited number in all.
final class LogInSessions: Sendable {
    private let talks = Mutex<[String: LogInSession]>([:])
    private static let most = 8
    /// Maximum time that a request waits for the next question.
    private static let wait = Duration.seconds(15)

    /// The viewer's log-in, or another viewer's while it runs; only its viewer learns the outcome.
    func talk(of instance: String, for viewer: Viewer) -> LogInSession? {
        talks.withLock { $0[instance] }.flatMap { $0.session == viewer.session.hash || !$0.isOver ? $0 : nil }
    }

    /// Begins a log-in, and waits a while for its first question.
    ///
    /// - Returns: nil if one of this instance is in progress, or too many are.
    func begin(
        _ instance: String, _ arguments: [String: SettingValue], _ hub: PluginContext, for viewer: Viewer
    ) async -> LogInSession? {
        let talk = LogInSession(instance: instance, session: viewer.session.hash)
        let isAdded = talks.withLock { talks in
            // An ended one stays until its outcome was shown, or the next of its instance begins.
            guard talks[instance]?.isOver ?? true, talks.values.count(where: { !$0.isOver }) < Self.most else {
                return false
            }
            talks[instance] = talk
            return true
        }
        guard isAdded else { return nil }
        await talk.begin(hub, arguments)
        await talk.change(within: Self.wait)
        return talk
    }

    /// Answers a question of this viewer's log-in, and waits a while for the next one.
    ///
    /// - Returns: nil if that question is not open.
    func answer(_ instance: String, _ text: String, to question: Int, for viewer: Viewer) async -> LogInSession? {
        guard let talk = talk(of: instance, for: viewer), talk.session == viewer.session.hash,
            await talk.answer(text, to: question)
        else { return nil }
        await talk.change(within: Self.wait)
        return talk
    }

    /// Cancels the log-in of an instance; an owner may end another's.
    func cancel(_ instance: String) async { await talks.withLock { $0[instance] }?.cancel() }

    /// Forgets a log-in whose outcome was shown.
    func remove(_ talk: LogInSession) {
        talks.withLock { talks in if talks[talk.instance] === talk { talks[talk.instance] = nil } }
    }
}

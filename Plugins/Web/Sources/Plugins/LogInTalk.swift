import Foundation
import PluginKit
import Synchronization

/// One log-in: the command `login` of a plugin, between what it asks and what a person answers in a browser.
actor LogInTalk {
    enum State: Sendable {
        case working
        /// Each question has a number, so that a form that is sent twice does not answer the next.
        case asking(CommandQuestion, Int)
        case ended
    }

    enum Outcome: Sendable {
        /// As which user of the service, where the plugin has said so.
        case loggedIn(String?)
        /// Why not, in words.
        case failed(String)
        /// No answer came: the plugin may have its token all the same.
        case unknown(String)
        /// It was cancelled, or the person has not answered in time.
        case givenUp
    }

    nonisolated let instance: String
    /// Whose log-in it is: no other browser or token sees what is asked, or answers.
    nonisolated let session: String
    private nonisolated let ending = Mutex<Outcome?>(nil)
    private(set) var state = State.working { didSet { tell() } }
    private var work: Task<Void, Never>?
    private var waiter: CheckedContinuation<RawJSON, any Error>?
    private var questions = 0
    /// The last question has no answer yet.
    private var waitsForPerson = false
    /// Those who wait until something is asked, or it is over.
    private var watchers: [CheckedContinuation<Void, Never>] = []

    /// As long as `hub login` waits.
    private static let time = Duration.seconds(600)

    init(instance: String, session: String) { (self.instance, self.session) = (instance, session) }

    /// How it ended; `nil` before.
    nonisolated var outcome: Outcome? { ending.withLock { $0 } }
    nonisolated var isOver: Bool { outcome != nil }

    private struct Result: Decodable {
        var account, user: String?
    }

    func begin(_ hub: PluginContext, _ arguments: [String: SettingValue]) {
        // It may have been cancelled before it began.
        guard !isOver else { return }
        work = Task {
            do {
                let result = try await hub.command(
                    "login", of: instance, arguments, deadline: Self.time,
                    answering: { try await self.ask($0) })
                let told = try? JSONDecoder().decode(Result.self, from: Data(result?.bytes ?? []))
                end(.loggedIn(told?.user ?? told?.account))
            } catch let failure as CommandFailure {
                let isLate = failure.code == "deadline" && waitsForPerson
                end(isLate ? .givenUp : failure.isUnheard ? .unknown(failure.message) : .failed(failure.message))
            } catch let error as AskError {
                end(error.code == .refused ? .failed(error.message) : .unknown(error.message))
            } catch {
                end(.givenUp)
            }
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

    /// - Returns: false where that question is not asked any more.
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

    /// Returns when the plugin asks something or is done, or the time is over.
    func change(within time: Duration) async {
        // That the time is over is no fault here.
        try? await Deadline.run(time) { await self.change() }
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

    /// They look again at what it is at: a few wait, and each once.
    private func tell() {
        for watcher in watchers { watcher.resume() }
        watchers = []
    }

    func cancel() {
        end(.givenUp)
        work?.cancel()
    }
}

/// The log-ins under way, whether a page or a program leads them: one of an instance, and a few in all.
final class LogInTalks: Sendable {
    private let talks = Mutex<[String: LogInTalk]>([:])
    private static let most = 8
    /// So long a request waits for what comes next.
    private static let wait = Duration.seconds(15)

    /// One of this viewer's, or of another who is at it still: how another's ended, only that viewer is told.
    func talk(of instance: String, for viewer: Viewer) -> LogInTalk? {
        talks.withLock { $0[instance] }.flatMap { $0.session == viewer.session.hash || !$0.isOver ? $0 : nil }
    }

    /// Begins one, and waits a while for what it asks.
    ///
    /// - Returns: `nil` where one of this instance, or as many as there may be, are under way.
    func begin(
        _ instance: String, _ arguments: [String: SettingValue], _ hub: PluginContext, for viewer: Viewer
    ) async -> LogInTalk? {
        let talk = LogInTalk(instance: instance, session: viewer.session.hash)
        let isAdded = talks.withLock { talks in
            // Those that are over stay until they were told, or the next of their instance begins.
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

    /// Answers a question of a log-in of this viewer's, and waits a while for what comes next.
    ///
    /// - Returns: `nil` where that question is not asked, or not any more.
    func answer(_ instance: String, _ text: String, to question: Int, for viewer: Viewer) async -> LogInTalk? {
        guard let talk = talk(of: instance, for: viewer), talk.session == viewer.session.hash,
            await talk.answer(text, to: question)
        else { return nil }
        await talk.change(within: Self.wait)
        return talk
    }

    /// Gives up whatever is under way of an instance: an owner may end another's.
    func cancel(_ instance: String) async { await talks.withLock { $0[instance] }?.cancel() }

    /// Forgets one that was told how it ended.
    func remove(_ talk: LogInTalk) {
        talks.withLock { talks in if talks[talk.instance] === talk { talks[talk.instance] = nil } }
    }
}

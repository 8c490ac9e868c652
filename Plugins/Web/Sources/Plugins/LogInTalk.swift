import Foundation
import HTMLText
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

    nonisolated let instance: String
    /// Whose log-in it is: no other browser sees what is asked, or answers.
    nonisolated let session: String
    private nonisolated let outcome = Mutex<HTML?>(nil)
    private(set) var state = State.working { didSet { tell() } }
    private var work: Task<Void, Never>?
    private var waiter: CheckedContinuation<RawJSON, any Error>?
    private var questions = 0
    /// Those who wait until something is asked, or it is over.
    private var watchers: [CheckedContinuation<Void, Never>] = []

    /// As long as `hub login` waits.
    private static let time = Duration.seconds(600)

    init(instance: String, session: String) { (self.instance, self.session) = (instance, session) }

    /// How it ended, for people; `nil` before.
    nonisolated var words: HTML? { outcome.withLock { $0 } }
    nonisolated var isOver: Bool { words != nil }

    private struct Result: Decodable {
        var account, user: String?
    }

    func begin(_ hub: PluginContext, _ arguments: [String: SettingValue]) {
        work = Task {
            do {
                let result = try await hub.command(
                    "login", of: instance, arguments, deadline: Self.time,
                    answering: { try await self.ask($0) })
                let told = try? JSONDecoder().decode(Result.self, from: Data(result?.bytes ?? []))
                let who: HTML = (told?.user ?? told?.account).map { " as \($0)" } ?? HTML()
                end("<p class=\"good\">Logged in to \(instance)\(who).</p>")
            } catch let failure as CommandFailure {
                end("<p class=\"bad\">\(failure.words("Not logged in to \(instance)"))</p>")
            } catch let error as AskError {
                // Where no answer came, the plugin may have its token all the same.
                let words: HTML = error.code == .refused ? "Not logged in" : "It is not known whether you are logged in"
                end("<p class=\"bad\">\(words) to \(instance): \(error.message)</p>")
            } catch {
                end("<p>The log-in to \(instance) was given up.</p>")
            }
        }
    }

    private func end(_ words: HTML) {
        outcome.withLock { $0 = words }
        state = .ended
    }

    private func ask(_ question: CommandQuestion) async throws -> RawJSON {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                guard !Task.isCancelled else { return continuation.resume(throwing: CancellationError()) }
                waiter = continuation
                questions += 1
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
        self.waiter = nil
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

    func cancel() { work?.cancel() }
}

/// The log-ins under way: one of an instance, and a few in all.
final class LogInTalks: Sendable {
    private let talks = Mutex<[String: LogInTalk]>([:])
    private static let most = 8

    func talk(of instance: String) -> LogInTalk? { talks.withLock { $0[instance] } }

    /// - Returns: false where one of this instance, or as many as there may be, are under way.
    func add(_ talk: LogInTalk) -> Bool {
        talks.withLock { talks in
            talks = talks.filter { !$0.value.isOver }
            guard talks[talk.instance] == nil, talks.count < Self.most else { return false }
            talks[talk.instance] = talk
            return true
        }
    }

    @discardableResult
    func remove(_ instance: String) -> LogInTalk? { talks.withLock { $0.removeValue(forKey: instance) } }
}

import CloudClient
import Foundation
import HubWire
import PluginKit
import ScaleProtocols
import Synchronization

/// `hub-ihealth-cloud`: sends requests to iHealth's Open API for the connector that has started it.
///
/// It does not interpret the data. Requests, including their secrets, arrive on stdin, and the service's answers go to stdout
/// (``CloudDialogue``). It stores nothing and ends when stdin ends.
@main struct IHealthCloudProgram {
    /// The service's limit of requests per user and hour.
    private static let limiter = RateLimiter(.init(5_000, per: .seconds(3_600)))
    private static let pace = ClientClock { .system }

    static func main() async {
        guard CommandLine.arguments.count == 1 else {
            FileHandle.standardError.write(
                Data("hub-ihealth-cloud is started by the connector of a scale, and takes no arguments.\n".utf8))
            exit(PluginExit.usage.rawValue)
        }
        let (lines, tell) = AsyncStream<String>.makeStream()
        Thread {
            while let line = readLine() { tell.yield(line) }
            // No one waits for the answers any more.
            exit(0)
        }.start()
        await withDiscardingTaskGroup { group in
            for await line in lines {
                guard let question = try? JSONDecoder().decode(CloudDialogue.Question.self, from: Data(line.utf8))
                else { continue }
                group.addTask { say(await answer(question)) }
            }
        }
    }

    private static func answer(_ question: CloudDialogue.Question) async -> CloudDialogue.Answer {
        do {
            let client = CloudClient(try ServiceAddress(question.address), pace: pace, limiter: limiter)
            let query = question.query.map { (name: $0.first ?? "", value: $0.last ?? "") }
            let answer = try await client.send(
                CloudRequest(.get, question.path, query: query),
                retrying: Retry(attempts: question.attempts, patience: .seconds(30)))
            return CloudDialogue.Answer(id: question.id, status: answer.status, body: answer.body)
        } catch {
            return CloudDialogue.Answer(id: question.id, reason: "\(error)")
        }
    }

    private static func say(_ answer: CloudDialogue.Answer) {
        guard let line = try? JSONEncoder().encode(answer) else { return }
        output.withLock { _ in FileHandle.standardOutput.write(line + [UInt8(ascii: "\n")]) }
    }

    private static let output = Mutex(())
}

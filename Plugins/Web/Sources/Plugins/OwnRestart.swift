import Foundation
import HTMLText
import Hummingbird
import PluginKit

extension WebParts {
    /// What of the results of `restart` and `apply` says whether this program goes on as it is.
    private struct Plan: Decodable {
        var instance: String?
        var instances: [ConfigureAnswer.Plan.Step]?

        func ends(_ name: String) -> Bool {
            instance == name || instances?.contains { $0.instance == name && $0.action != "leave" } ?? false
        }
    }

    /// Has the hub restart a plugin, or follow hub.conf.
    ///
    /// Where that ends this very program, which could not answer any more, the answer goes out first: it is made of what the hub would do,
    /// and of what the hub refuses nothing is begun.
    /// - Parameter answer: makes it of the hub's result, and of whether that is still to come.
    /// - Throws: ``CommandFailure`` with the hub's reason; ``AskError``; what `answer` throws.
    func carryOut(
        _ command: String, _ arguments: [String: SettingValue] = [:], for viewer: Viewer,
        answer: (_ result: RawJSON, _ isToCome: Bool) async throws -> Response
    ) async throws -> Response {
        let (hub, notices) = (hub, notices)
        // Programs are asked what they are, and one that hangs has ten seconds.
        let deed = { @Sendable (isDryRun: Bool) async throws -> RawJSON in
            try await hub.command(command, arguments, isDryRun: isDryRun, deadline: .seconds(120)) ?? .emptyObject
        }
        let plan = try await deed(true)
        guard try JSONDecoder().decode(Plan.self, from: Data(plan.bytes)).ends(hub.instance) else {
            return try await answer(try await deed(false), false)
        }
        return try await answer(plan, true).followed {
            do { _ = try await deed(false) } catch let failure as CommandFailure {
                hub.logger.warning("\(command) was not done", metadata: ["reason": "\(failure.message)"])
                if viewer.isBrowser {
                    notices.put("<p class=\"bad\">\(failure.words("It was not done"))</p>", for: viewer)
                }
            } catch {
                // The session ends with it, before the hub has answered.
            }
        }
    }
}

extension Response {
    /// The same; `deed` begins when all of it has gone out.
    func followed(by deed: @escaping @Sendable () async -> Void) -> Response {
        var response = self
        let body = body
        response.body = ResponseBody(contentLength: body.contentLength) { writer in
            try await body.write(writer)
            await deed()
        }
        return response
    }
}

extension CommandFailure {
    /// The reason, for people.
    ///
    /// - Parameter undone: what was not done; left out where it may have been, for no one has told how it ended.
    func words(_ undone: String) -> String {
        ["deadline", "lost"].contains(code) ? "It is not known how it ended: \(message)" : "\(undone): \(message)"
    }
}

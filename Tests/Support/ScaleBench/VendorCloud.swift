import Foundation
public import IHealthCloudSimulation
public import PluginKit
import PluginTesting
public import WebFaults

/// A stand-in for the vendor's Open API in this process, at its own port, with a person who logs in.
public final class VendorCloud: Sendable {
    public let service: IHealthCloud
    public let standIn: StandIn<IHealthCloud>
    /// The base address `http://…`, as in `openapi_base`.
    public let base: String
    private let serving: Task<Void, any Error>

    public init() async throws {
        let service = IHealthCloud()
        let standIn = StandIn(service, faults: FaultQueue(), clock: try SettableClock())
        let (ports, tell) = AsyncStream<Int>.makeStream()
        serving = Task { try await standIn.run(host: "127.0.0.1", port: 0) { tell.yield($0) } }
        var iterator = ports.makeAsyncIterator()
        guard let port = await iterator.next() else { throw Unexpected(what: "the stand-in has no port") }
        base = "http://127.0.0.1:\(port)"
        (self.service, self.standIn) = (service, standIn)
    }

    deinit { serving.cancel() }

    /// The settings of a plugin that uses this service.
    public var settings: [(name: String, value: String)] {
        [
            ("auth_mode", "openapi"), ("client_id", "client"), ("client_secret", "shh"), ("openapi_base", base),
            ("openapi_sc", "serial"), ("openapi_sv", "right"), ("openapi_redirect", "http://127.0.0.1:8737/"),
        ]
    }

    /// The error if a step of the log-in was not as a person or a program needs it.
    public struct Unexpected: Error, CustomStringConvertible {
        let what: String
        public var description: String { what }
    }

    /// Runs the command `login` as a person whose browser is sent to a page and back, and returns its outcome.
    public func logIn(_ bench: ScaleBench) async throws -> CommandOutcome.Content {
        let call = await bench.hub.begin("login")
        let outcome = await bench.hub.outcome(of: call)
        guard case .ask(let question) = outcome, let page = question.url.flatMap({ URLComponents(string: $0) }) else {
            throw Unexpected(what: "no page was opened: \(outcome)")
        }
        let query = Dictionary((page.queryItems ?? []).map { ($0.name, $0.value ?? "") }) { first, _ in first }
        guard page.path == Self.page, query["APIName"] == "OpenApiWeight", query["client_id"] == "client" else {
            throw Unexpected(what: "another page was opened: \(page)")
        }
        let answer = service.answer(WebRequest("GET", page.path + "?" + (page.percentEncodedQuery ?? "")), faults: [])
        guard let back = answer.fields.first(where: { $0.name == "Location" })?.value else {
            throw Unexpected(what: "the page leads nowhere")
        }
        await bench.hub.answer(call, RawJSON(trusted: Array("\"\(back)\"".utf8)))
        return await bench.hub.outcome(of: call)
    }

    /// Gives the hub a token, as if a person had logged in before.
    public func link(_ bench: ScaleBench) async throws {
        let target = Self.page + "?client_id=client&redirect_uri=http://127.0.0.1:8737/"
        let page = service.answer(WebRequest("GET", target + "&response_type=code&APIName=OpenApiWeight"), faults: [])
        guard let code = page.fields.first(where: { $0.name == "Location" })?.value.split(separator: "=").last else {
            throw Unexpected(what: "no code was given")
        }
        let answer = service.answer(
            WebRequest("GET", target + "&client_secret=shh&grant_type=authorization_code&code=\(code)"), faults: [])
        guard let token = JSONTree(answer.body), let access = token["AccessToken"]?.text,
            let refresh = token["RefreshToken"]?.text
        else { throw Unexpected(what: "no token was given") }
        let json =
            "{\"access_token\":\"\(access)\",\"refresh_token\":\"\(refresh)\",\"user_id\":\"\(IHealthCloud.user)\"}"
        await bench.hub.setToken(RawJSON(trusted: Array(json.utf8)), of: "ihealth")
    }

    private static let page = "/OpenApiV2/OAuthv2/userauthorization/"
}

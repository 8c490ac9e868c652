import ExistSimulation
import Foundation
import FoundationNetworking
import Testing
import WebFaults

/// A stand-in in this process, with its own socket; its clock stands still.
final class ExistScene: Sendable {
    let standIn: StandIn<SimulatedExist>
    let base: String
    private let serving: Task<Void, any Error>

    init(_ switches: [String: String] = [:], at time: String = "2024-05-20T19:14:03.25Z") async throws {
        let clock = try SettableClock("\(time)@0")
        var set = ExistSwitches()
        for (name, value) in switches { try set.set(name, value) }
        let service = try SimulatedExist(path: nil, clock: clock, switches: set)
        try service.register(
            [
                ExistUser("mira", password: "s3cret", zone: "Europe/Berlin"),
                ExistUser("tane", password: "s3cret", zone: "Pacific/Auckland"),
            ],
            [
                ExistClient("hub", secret: "shh", label: "My hub", redirects: ["http://127.0.0.1:8737/"]),
                ExistClient("other", secret: "shh", label: "Other", redirects: ["http://127.0.0.1:8738/"]),
            ])
        let standIn = StandIn(service, faults: FaultQueue(forms: SimulatedExist.forms), clock: clock)
        let (ports, tell) = AsyncStream<Int>.makeStream()
        serving = Task { try await standIn.run(host: "127.0.0.1", port: 0) { tell.yield($0) } }
        var iterator = ports.makeAsyncIterator()
        base = "http://127.0.0.1:\(try #require(await iterator.next()))"
        self.standIn = standIn
    }

    deinit { serving.cancel() }

    struct Answer: Sendable {
        let status: Int
        let fields: [String: String]
        let body: [UInt8]

        var json: JSONTree? { JSONTree(body) }
        var text: String { String(decoding: body, as: UTF8.self) }
        /// `error_code` of every object that failed.
        var codes: [String] { json?["failed"]?.list?.compactMap { $0["error_code"]?.text } ?? [] }
        var done: Int { json?["success"]?.list?.count ?? 0 }
    }

    /// Sends one request on a separate connection.
    func send(
        _ method: String, _ target: String, token: String? = nil, json: String? = nil, form: String? = nil,
        fields: [String: String] = [:]
    ) async throws -> Answer {
        var request = URLRequest(url: try #require(URL(string: base + target)), timeoutInterval: 20)
        request.httpMethod = method
        if let token {
            request.setValue(token.contains(" ") ? token : "Bearer \(token)", forHTTPHeaderField: "Authorization")
        }
        if let json {
            request.httpBody = Data(json.utf8)
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        }
        if let form {
            request.httpBody = Data(form.utf8)
            request.setValue("application/x-www-form-urlencoded", forHTTPHeaderField: "Content-Type")
        }
        for (name, value) in fields { request.setValue(value, forHTTPHeaderField: name) }
        let session = URLSession(configuration: .ephemeral, delegate: Still(), delegateQueue: nil)
        defer { session.finishTasksAndInvalidate() }
        let (body, response) = try await session.data(for: request)
        let http = try #require(response as? HTTPURLResponse)
        let pairs = http.allHeaderFields.compactMap { name, value in
            (name as? String).map { ($0.lowercased(), "\(value)") }
        }
        return Answer(
            status: http.statusCode, fields: Dictionary(pairs, uniquingKeysWith: { first, _ in first }),
            body: Array(body))
    }

    /// Follows no redirects.
    private final class Still: NSObject, URLSessionTaskDelegate {
        func urlSession(
            _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest, completionHandler: @escaping (URLRequest?) -> Void
        ) { completionHandler(nil) }
    }

    /// A personal token with every scope.
    func token(_ user: String = "mira", client: String = "hub") async throws -> String {
        let answer = try await send(
            "POST", "/control/personal-token", json: #"{"user":"\#(user)","client":"\#(client)"}"#)
        return try #require(answer.json?["access_token"]?.text)
    }

    /// Logs in and returns the resulting code.
    func code(scope: String = "health_read+health_write", state: String = "xyz") async throws -> [String: String] {
        let answer = try await send(
            "GET",
            "/oauth2/authorize?response_type=code&client_id=hub&redirect_uri=http://127.0.0.1:8737/&scope=\(scope)&state=\(state)"
        )
        let back = try #require(URLComponents(string: answer.fields["location"] ?? ""))
        return Dictionary(uniqueKeysWithValues: (back.queryItems ?? []).map { ($0.name, $0.value ?? "") })
    }

    /// Requests a pair of tokens.
    func exchange(_ members: String) async throws -> Answer {
        try await send("POST", "/oauth2/access_token", form: members + "&client_id=hub&client_secret=shh")
    }

    func update(_ token: String, _ objects: String) async throws -> Answer {
        try await send("POST", "/api/2/attributes/update/", token: token, json: objects)
    }

    func acquire(_ token: String, _ templates: String...) async throws {
        let objects = templates.map { #"{"template":"\#($0)","manual":false}"# }.joined(separator: ",")
        let answer = try await send("POST", "/api/2/attributes/acquire/", token: token, json: "[\(objects)]")
        #expect(answer.status == 200, "\(answer.text)")
    }

    /// The values of an attribute by date, according to the stand-in.
    func values(_ attribute: String, of user: String = "mira") async throws -> [String: String] {
        let state = try await send("GET", "/control/state").json
        let mine = state?["users"]?.list?.first { $0["name"]?.text == user }
        let found = mine?["attributes"]?.list?.first { $0["name"]?.text == attribute }
        return Dictionary(uniqueKeysWithValues: (found?["values"]?.members ?? []).map { ($0.name, $0.value.json) })
    }
}

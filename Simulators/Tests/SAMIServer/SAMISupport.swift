import Testing
import WebFaults

@testable import SAMIExchange

/// An exchange in memory, called without a socket.
struct SAMIBench {
    static let start: Int64 = 1_767_225_600_000  // 2026-01-01T00:00:00Z

    let exchange: Exchange
    let clock: SettableClock
    let faults = FaultQueue(forms: Exchange.forms)

    init(_ change: (inout Exchange.Options) -> Void = { _ in }) throws {
        var options = Exchange.Options()
        change(&options)
        clock = try SettableClock("2026-01-01T00:00:00Z@0")
        exchange = try Exchange(options, clock: clock, faults: faults)
    }

    func send(
        _ method: String, _ target: String, token: String? = nil, json: JSONTree? = nil,
        form: [(String, String)]? = nil, fields: [String: String] = [:]
    ) throws -> WebAnswer {
        var fields = fields
        if let token { fields["authorization"] = "bearer \(token)" }
        var body: [UInt8] = []
        if let json {
            fields["content-type"] = "application/json"
            body = Array(json.json.utf8)
        }
        if let form {
            fields["content-type"] = "application/x-www-form-urlencoded"
            body = Array(
                form.map { "\(WebRequest.encoded($0.0))=\(WebRequest.encoded($0.1))" }.joined(separator: "&").utf8)
        }
        let request = WebRequest(method, target, fields: fields, body: body)
        return try exchange.answer(request, faults: faults.draw(for: request.path))
    }

    /// A call below `/v1.1` with a user's token.
    func call(
        _ method: String, _ target: String, token: String? = nil, json: JSONTree? = nil, status: Int = 200,
        _ location: SourceLocation = #_sourceLocation
    ) throws -> JSONTree {
        let answer = try send(method, "/v1.1" + target, token: try token ?? self.token(), json: json)
        #expect(answer.status == status, "\(method) \(target): \(answer.text)", sourceLocation: location)
        return try #require(JSONTree(answer.body), sourceLocation: location)
    }

    /// A fresh token of the first user.
    func token() throws -> String {
        let made = try exchange.control(WebRequest("POST", "/control/tokens", body: Array("{}".utf8)))
        let answer = try #require(made)
        return try #require(JSONTree(answer.body)?["access_token"]?.text)
    }

    func post(_ data: JSONTree, at ts: Int64? = nil, token: String? = nil, status: Int = 200) throws -> JSONTree {
        var body: JSONTree = ["sdid": .text(Fixtures.scale), "data": data]
        if let ts { body = body.with(["ts": .whole(ts)]) }
        return try call("POST", "/messages", token: token, json: body, status: status)
    }
}

extension WebAnswer {
    var text: String { String(decoding: body, as: UTF8.self) }

    func field(_ name: String) -> String? { fields.first { $0.name == name }?.value }
}

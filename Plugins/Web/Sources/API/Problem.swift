import HTTPTypes
import Hummingbird
import JSON
import NIOCore
import PluginKit

/// Errors in the form for programs (RFC 9457).
enum Problem {
    static func response(_ refusal: RequestRefusal) -> Response {
        let problem = JSONTree(present: [
            ("title", .text(refusal.title)), ("status", JSONTree(Int(refusal.status.code))),
            ("detail", .text(refusal.advice)), ("code", refusal.code.map(JSONTree.text)),
            ("member", refusal.member.map(JSONTree.text)),
        ])
        var response = Response(
            status: refusal.status, headers: [.contentType: "application/problem+json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: problem.bytes)))
        if refusal.status == .unauthorized { response.headers[.wwwAuthenticate] = "Bearer" }
        if let seconds = refusal.retryAfter { response.headers[.retryAfter] = "\(seconds)" }
        if let allowed = refusal.allowed { response.headers[.allow] = allowed }
        return response
    }
}

extension RequestRefusal {
    /// A refusal for a failed request to the hub.
    init(_ error: AskError) {
        let status: HTTPResponse.Status =
            switch error.error?.code {
            // Other invalid forms are refused before the hub is asked.
            case .field?, .query?, .cursor?: .unprocessableContent
            case .epoch?: .gone
            case .forbidden?: .forbidden
            case .busy?, .store?, .stopping?: .serviceUnavailable
            default: error.code == .stopping ? .serviceUnavailable : .badGateway
            }
        self.init(
            status, "The hub does not answer this", error.message, retryAfter: status == .serviceUnavailable ? 2 : nil)
        code = error.error.map { "\($0.code)" }
        member = error.error.flatMap { Self.member(of: $0.reason) }
    }

    /// A refusal for a failed command.
    init(_ failure: CommandFailure) {
        let status: HTTPResponse.Status =
            switch failure.code {
            case "forbidden": .forbidden
            case "absent": .conflict
            case "busy", "store", "stopping", "internal": .serviceUnavailable
            case "deadline", "lost": .gatewayTimeout
            default: .unprocessableContent
            }
        self.init(
            status, "The hub did not do this", failure.message, retryAfter: status == .serviceUnavailable ? 2 : nil)
        code = failure.code
        member = Self.member(of: failure.message)
    }

    /// The member at the beginning of the hub's reason: `QUERY.types[0]: …`, `value: …`.
    private static func member(of reason: String) -> String? {
        // The arguments of a command are the members of the body.
        let arguments = "COMMAND.args: "
        let reason = reason.hasPrefix(arguments) ? reason.dropFirst(arguments.count) : reason[...]
        guard let end = reason.firstIndex(of: ":") else { return nil }
        let path = reason[..<end].split(separator: ".")
        // The name of a file such as hub.conf is not a member.
        guard path.count < 2 || path[0].allSatisfy({ $0.isUppercase || $0 == "-" }) else { return nil }
        let name = path.last.map(String.init) ?? ""
        guard !name.isEmpty, name.allSatisfy({ $0.isLetter || $0.isNumber || "[]_".contains($0) }) else { return nil }
        return name
    }
}

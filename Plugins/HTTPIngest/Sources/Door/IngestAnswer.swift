import HTTPTypes
import Hummingbird
import JSON
import NIOCore
import PhonePayloads
import PluginKit

/// The answer to a post.
struct IngestAnswer: Sendable {
    var status: HTTPResponse.Status
    var fields: [(HTTPField.Name, String)] = []
    var body: [UInt8] = []
    var type = "application/json"
    /// Whether the connection closes after this answer.
    var isLast = false

    init(_ status: HTTPResponse.Status) { self.status = status }

    static func json(_ tree: JSONTree, _ status: HTTPResponse.Status = .ok) -> IngestAnswer {
        var answer = IngestAnswer(status)
        answer.body = tree.bytes + [0x0A]
        return answer
    }

    /// An error text (problem, reason, remedy), and optionally when to retry.
    static func error(
        _ status: HTTPResponse.Status, _ text: String, retryAfter: Int? = nil, isLast: Bool = false,
        more: [(HTTPField.Name, String)] = []
    ) -> IngestAnswer {
        var answer = json(["error": .text(text)], status)
        answer.fields = more
        if let retryAfter { answer.fields.append((.retryAfter, "\(retryAfter)")) }
        answer.isLast = isLast
        return answer
    }

    /// The answer to a body from which no record was taken.
    static func refused(_ error: PhoneError) -> IngestAnswer {
        switch error.code {
        case .size: .error(.contentTooLarge, error.description)
        case .person: .error(.forbidden, error.description)
        case .json, .form: .error(.badRequest, error.description)
        }
    }

    /// The response for the HTTP library; it has no body if the request was HEAD.
    func response(hasBody: Bool) -> Response {
        var headers = HTTPFields()
        headers[.cacheControl] = "no-store"
        headers[.xContentTypeOptions] = "nosniff"
        for (name, value) in fields { headers[name] = value }
        if !body.isEmpty { headers[.contentType] = type }
        if isLast { headers[.connection] = "close" }
        guard hasBody, status != .noContent else {
            return Response(status: status, headers: headers, body: ResponseBody())
        }
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
    }
}

/// The result of a post, item by item; each list has at most a hundred items and a count of the rest.
struct IngestReport: Sendable {
    private static let most = 100

    var received = 0
    var stored = 0
    var duplicate = 0
    var retracted = 0
    private(set) var rejected: [PhoneRejection] = []
    private(set) var ignored: [PhoneOmission] = []
    private(set) var more = 0
    private(set) var rejections = 0
    /// Whether a whole item was ignored on purpose; an ignored member of an item does not count.
    private var omitsItems = false

    /// Adds the reader's results for one piece.
    mutating func note(_ piece: PhoneBatch) {
        received += piece.received
        for rejection in piece.rejected { add(rejection) }
        for omission in piece.ignored { add(omission) }
    }

    mutating func add(_ rejection: PhoneRejection) {
        rejections += 1
        if rejected.count < Self.most { rejected.append(rejection) } else { more += 1 }
    }

    /// Whether all items were rejected and the status should say so.
    ///
    /// Some formats never get such a status: HCGateway aborts its run at an error, and openScale-sync repeats the post for ever.
    func isTotalRejection(_ format: PhoneFormat) -> Bool {
        guard rejections > 0, stored + duplicate + retracted == 0 else { return false }
        switch format {
        case .plain: return true
        case .healthAutoExport, .healthConnectWebhook: return !omitsItems
        case .healthConnectGateway, .openScale, .openScaleHistory, .bleScaleSync, .bleScaleLines: return false
        }
    }

    mutating func add(_ omission: PhoneOmission) {
        if omission.isItem { omitsItems = true }
        if ignored.count < Self.most { ignored.append(omission) } else { more += 1 }
    }

    var json: JSONTree {
        .members([
            "received": .init(received), "stored": .init(stored), "duplicate": .init(duplicate),
            "retracted": .init(retracted),
            "rejected": .list(
                rejected.map {
                    ["at": .text("\($0.place)"), "code": .text($0.code), "reason": .text($0.reason)]
                }),
            "ignored": .list(
                ignored.map { omission in
                    .members([
                        "at": .text("\(omission.place)"), "name": omission.name.map(JSONTree.text),
                        "points": omission.points.map { JSONTree($0) }, "why": .text(omission.why),
                    ])
                }),
            "more": .init(more),
        ])
    }
}

extension HTTPField.Name {
    static let xContentTypeOptions = HTTPField.Name("X-Content-Type-Options")!
}

extension PhoneOmission {
    /// Whether it is a whole item of the body, such as `/steps/3`, and not a part of one.
    fileprivate var isItem: Bool {
        guard !isMember else { return false }
        switch place {
        case .point: return true
        case .pointer(let text): return text.split(separator: "/").last.map { Int($0) != nil } ?? true
        }
    }
}

import HTTPTypes
import Hummingbird
import JSON
import NIOCore
import PhonePayloads
import PluginKit

/// What a post is answered with.
struct IngestAnswer: Sendable {
    var status: HTTPResponse.Status
    var fields: [(HTTPField.Name, String)] = []
    var body: [UInt8] = []
    var type = "application/json"
    /// Nothing more is read of this connection.
    var isLast = false

    init(_ status: HTTPResponse.Status) { self.status = status }

    static func json(_ tree: JSONTree, _ status: HTTPResponse.Status = .ok) -> IngestAnswer {
        var answer = IngestAnswer(status)
        answer.body = tree.bytes + [0x0A]
        return answer
    }

    /// An error: what, why and what to do, and whether to come again.
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

    /// A body of which nothing was taken.
    static func refused(_ error: PhoneError) -> IngestAnswer {
        switch error.code {
        case .size: .error(.contentTooLarge, error.description)
        case .person: .error(.forbidden, error.description)
        case .json, .form: .error(.badRequest, error.description)
        }
    }

    /// For the library; without a body to a question for the head alone.
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

/// What became of a post, item by item (the first hundred of each list, and how many more there are).
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
    /// Whether an item was left out on purpose; a member of an item is none.
    private var omitsItems = false

    /// What the reader says of a piece.
    mutating func note(_ piece: PhoneBatch) {
        received += piece.received
        for rejection in piece.rejected { add(rejection) }
        for omission in piece.ignored { add(omission) }
    }

    mutating func add(_ rejection: PhoneRejection) {
        rejections += 1
        if rejected.count < Self.most { rejected.append(rejection) } else { more += 1 }
    }

    /// Whether all of the post was rejected, and the status is to say so.
    ///
    /// HCGateway ends its run at an error, and openScale-sync repeats the post for ever: they get none.
    func isInVain(_ format: PhoneFormat) -> Bool {
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

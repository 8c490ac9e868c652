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

    mutating func add(_ omission: PhoneOmission) {
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

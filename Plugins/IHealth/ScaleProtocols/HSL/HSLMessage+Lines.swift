import JSON
import Platform

extension HSLMessage {
    /// Parses a line without its end; unknown members are ignored.
    public init(line: [UInt8]) throws(HSLMessageError) {
        guard let json = JSONTree(line)?.canonical, case .object = json else {
            throw HSLMessageError(.badJSON, "a line is one JSON object in UTF-8")
        }
        let reader = Reader(json: json)
        switch json["t"]?.text {
        case "hello": self = .hello(try HSLHello(reader))
        case "auth": self = .auth(proof: try reader.text("proof"))
        case "welcome": self = .welcome(session: try reader.text("session"), resumeFrom: reader.resumeFrom)
        case "req": self = .request(try HSLRequest(reader))
        case "evt": self = .event(try HSLEvent(reader))
        case "res": self = .result(try HSLResult(reader))
        case "ack": self = .acknowledge(try reader.device("dev"), rid: try reader.rid("rid"))
        case "cancel": self = .cancel(ref: try reader.whole("ref"))
        case "ping": self = .ping(try reader.whole("k"))
        case "pong": self = .pong(try reader.whole("k"))
        case "error":
            self = .error(
                HSLMessageError(
                    code: try reader.text("code"), text: json["text"]?.text ?? "", ref: json["ref"]?.whole))
        case "bye": self = .bye(reason: json["reason"]?.text ?? "")
        case let type?: throw HSLMessageError(.unknownType, "no message is called \"\(type.prefix(40))\"")
        case nil: throw HSLMessageError(.badMessage, "t is missing: what kind of message is this?")
        }
    }

    /// The bytes of the line and its end.
    public var bytes: [UInt8] { json.bytes + [0x0A] }

    /// The members in JSON.
    var json: JSONTree {
        switch self {
        case .hello(let hello):
            return [
                "t": "hello", "v": 1, "role": .text(hello.role.rawValue), "impl": .text(hello.implementation),
                "impl_version": .text(hello.version), "sdk": .text(hello.family.rawValue),
                "models": .list(hello.models.map { .text($0.rawValue) }), "nonce": .text(hello.nonce.hexadecimal),
            ]
        case .auth(let proof): return ["t": "auth", "proof": .text(proof)]
        case .welcome(let session, let resume):
            let last = resume.map { JSONTree.Member("\($0.key)", .text($0.value)) }.sorted { $0.name < $1.name }
            return [
                "t": "welcome", "session": .text(session), "resume_from": last.isEmpty ? .null : .object(last),
            ]
        case .request(let request):
            return JSONTree.members([
                "t": "req", "id": JSONTree(request.id), "dev": request.device.map { .text("\($0)") },
                "op": .text(request.name), "args": request.arguments == [:] ? nil : request.arguments,
            ])
        case .event(let event):
            return JSONTree.members([
                "t": "evt", "n": JSONTree(event.number), "ref": event.ref.map { JSONTree($0) },
                "dev": .text("\(event.device)"), "ev": .text(event.name), "rid": event.rid.map { .text($0) },
                "data": event.data,
            ])
        case .result(let result): return result.json
        case .acknowledge(let device, let rid):
            return ["t": "ack", "dev": .text("\(device)"), "rid": .text(rid)]
        case .cancel(let ref): return ["t": "cancel", "ref": JSONTree(ref)]
        case .ping(let mark): return ["t": "ping", "k": JSONTree(mark)]
        case .pong(let mark): return ["t": "pong", "k": JSONTree(mark)]
        case .error(let complaint):
            return JSONTree.members([
                "t": "error", "ref": complaint.ref.map { JSONTree($0) }, "code": .text(complaint.code),
                "text": .text(complaint.text),
            ])
        case .bye(let reason): return ["t": "bye", "reason": .text(reason)]
        }
    }
}

/// Reads members of a line, or throws an error with the member's name.
private struct Reader {
    let json: JSONTree

    var ref: Int? { json["ref"]?.whole ?? json["id"]?.whole }

    func text(_ name: String) throws(HSLMessageError) -> String {
        guard let text = json[name]?.text, text.utf8.count <= 512 else {
            throw wrong(name, "a text of at most 512 bytes")
        }
        return text
    }

    func whole(_ name: String) throws(HSLMessageError) -> Int {
        guard let number = json[name]?.whole, (0...0x7FFF_FFFF_FFFF).contains(number) else {
            throw wrong(name, "a whole number from 0")
        }
        return number
    }

    func device(_ name: String) throws(HSLMessageError) -> HSLDeviceID {
        guard let device = json[name]?.text.flatMap({ HSLDeviceID($0) }) else {
            throw wrong(name, "a scale such as HS3:020000003001")
        }
        return device
    }

    func rid(_ name: String) throws(HSLMessageError) -> String {
        guard let rid = json[name]?.text, (1...64).contains(rid.utf8.count) else {
            throw wrong(name, "a text of 1 to 64 bytes")
        }
        return rid
    }

    /// Reads an optional member; it must have the right kind if it is present.
    func optional<Value>(
        _ name: String, _ read: (String) throws(HSLMessageError) -> Value
    ) throws(HSLMessageError) -> Value? {
        json[name] == nil ? nil : try read(name)
    }

    var resumeFrom: [HSLDeviceID: String] {
        guard case .object(let members)? = json["resume_from"] else { return [:] }
        return members.reduce(into: [:]) { last, member in
            if let device = HSLDeviceID(member.name) { last[device] = member.value.text }
        }
    }

    func wrong(_ name: String, _ expected: String) -> HSLMessageError {
        HSLMessageError(.badMessage, "\(name): expected \(expected)", ref: ref)
    }
}

extension HSLHello {
    fileprivate init(_ reader: Reader) throws(HSLMessageError) {
        guard reader.json["v"]?.whole == 1 else {
            throw HSLMessageError(.unsupportedVersion, "v: this side speaks version 1 alone")
        }
        guard let role = Role(rawValue: try reader.text("role")) else {
            throw reader.wrong("role", "connector or device")
        }
        guard let nonce = [UInt8](hexadecimal: try reader.text("nonce")), nonce.count == 16 else {
            throw reader.wrong("nonce", "16 bytes as 32 hex digits")
        }
        let names = reader.json["models"]?.list ?? []
        (self.role, self.nonce) = (role, nonce)
        (implementation, version) = (try reader.text("impl"), try reader.optional("impl_version", reader.text) ?? "")
        family = reader.json["sdk"]?.text.flatMap { HSLFamily(rawValue: $0) } ?? .ios
        models = names.compactMap { $0.text.flatMap { ScaleModel(rawValue: $0) } }
    }
}

extension HSLRequest {
    fileprivate init(_ reader: Reader) throws(HSLMessageError) {
        self.init(
            id: try reader.whole("id"), device: try reader.optional("dev", reader.device),
            name: try reader.text("op"), arguments: reader.json["args"] ?? [:])
    }
}

extension HSLEvent {
    fileprivate init(_ reader: Reader) throws(HSLMessageError) {
        self.init(
            ref: try reader.optional("ref", reader.whole), device: try reader.device("dev"),
            name: try reader.text("ev"), data: reader.json["data"] ?? [:], number: try reader.whole("n"),
            rid: try reader.optional("rid", reader.rid))
    }
}

extension HSLResult {
    fileprivate init(_ reader: Reader) throws(HSLMessageError) {
        guard let status = Status(rawValue: try reader.text("status")) else {
            throw reader.wrong("status", "done, failed or cancelled")
        }
        (ref, self.status) = (try reader.whole("ref"), status)
        errorCode = reader.json["error"]?["code"]?.whole
        devices = reader.json["devices"]?.list?.prefix(64).compactMap { json in
            json["dev"]?.text.flatMap { HSLDeviceID($0) }.map { HSLDeviceInfo($0, json) }
        }
    }

    fileprivate var json: JSONTree {
        JSONTree.members([
            "t": "res", "ref": JSONTree(ref), "status": .text(status.rawValue),
            "error": errorCode.map { ["code": JSONTree($0)] }, "devices": devices.map { .list($0.map(\.json)) },
        ])
    }
}

extension HSLDeviceInfo {
    /// Reads the texts about a scale, which are optional.
    init(_ id: HSLDeviceID, _ json: JSONTree) {
        func text(_ name: String) -> String? { json[name]?.text.map { String($0.prefix(64)) } }
        self.init(
            id, name: text("name"), firmware: text("firmware"), hardware: text("hardware"),
            transport: text("transport"))
    }

    fileprivate var json: JSONTree {
        JSONTree.members([
            "dev": .text("\(id)"), "model": .text(id.model.rawValue), "deviceId": .text(id.deviceId),
            "name": name.map { .text($0) }, "firmware": firmware.map { .text($0) },
            "hardware": hardware.map { .text($0) }, "transport": transport.map { .text($0) },
        ])
    }
}

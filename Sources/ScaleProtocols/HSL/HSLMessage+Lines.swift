extension HSLMessage {
    /// Reads a line without its end; unknown members are ignored.
    public init(line: [UInt8]) throws(HSLComplaint) {
        guard let json = HSLJSON(line), case .object = json else {
            throw HSLComplaint(.badJSON, "a line is one JSON object in UTF-8")
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
                HSLComplaint(
                    code: try reader.text("code"), text: json["text"]?.text ?? "", ref: json["ref"]?.whole))
        case "bye": self = .bye(reason: json["reason"]?.text ?? "")
        case let type?: throw HSLComplaint(.unknownType, "no message is called \"\(type.prefix(40))\"")
        case nil: throw HSLComplaint(.badMessage, "t is missing: what kind of message is this?")
        }
    }

    /// The bytes of the line and its end.
    public var bytes: [UInt8] { Array(json.line.utf8) + [0x0A] }

    /// The members in JSON.
    var json: HSLJSON {
        switch self {
        case .hello(let hello):
            return [
                "t": "hello", "v": 1, "role": .string(hello.role.rawValue), "impl": .string(hello.implementation),
                "impl_version": .string(hello.version), "sdk": .string(hello.family.rawValue),
                "models": .array(hello.models.map { .string($0.rawValue) }), "nonce": .string(hello.nonce.hex),
            ]
        case .auth(let proof): return ["t": "auth", "proof": .string(proof)]
        case .welcome(let session, let resume):
            let last = resume.reduce(into: [String: HSLJSON]()) { $0["\($1.key)"] = .string($1.value) }
            return [
                "t": "welcome", "session": .string(session), "resume_from": last.isEmpty ? .null : .object(last),
            ]
        case .request(let request):
            var members: [String: HSLJSON] = ["t": "req", "id": .int(request.id)]
            members["dev"] = request.device.map { .string("\($0)") }
            members["op"] = .string(request.name)
            members["args"] = request.arguments == [:] ? nil : request.arguments
            return .object(members)
        case .event(let event):
            var members: [String: HSLJSON] = [
                "t": "evt", "n": .int(event.number), "dev": .string("\(event.device)"), "ev": .string(event.name),
                "data": event.data,
            ]
            members["ref"] = event.ref.map { .int($0) }
            members["rid"] = event.rid.map { .string($0) }
            return .object(members)
        case .result(let result): return result.json
        case .acknowledge(let device, let rid):
            return ["t": "ack", "dev": .string("\(device)"), "rid": .string(rid)]
        case .cancel(let ref): return ["t": "cancel", "ref": .int(ref)]
        case .ping(let mark): return ["t": "ping", "k": .int(mark)]
        case .pong(let mark): return ["t": "pong", "k": .int(mark)]
        case .error(let complaint):
            var members: [String: HSLJSON] = [
                "t": "error", "code": .string(complaint.code), "text": .string(complaint.text),
            ]
            members["ref"] = complaint.ref.map { .int($0) }
            return .object(members)
        case .bye(let reason): return ["t": "bye", "reason": .string(reason)]
        }
    }
}

/// Takes members out of a line, or says which one is wrong.
private struct Reader {
    let json: HSLJSON

    var ref: Int? { json["ref"]?.whole ?? json["id"]?.whole }

    func text(_ name: String) throws(HSLComplaint) -> String {
        guard let text = json[name]?.text, text.utf8.count <= 512 else {
            throw wrong(name, "a text of at most 512 bytes")
        }
        return text
    }

    func whole(_ name: String) throws(HSLComplaint) -> Int {
        guard let number = json[name]?.whole, (0...0x7FFF_FFFF_FFFF).contains(number) else {
            throw wrong(name, "a whole number from 0")
        }
        return number
    }

    func device(_ name: String) throws(HSLComplaint) -> HSLDeviceID {
        guard let device = json[name]?.text.flatMap({ HSLDeviceID($0) }) else {
            throw wrong(name, "a scale such as HS3:020000003001")
        }
        return device
    }

    func rid(_ name: String) throws(HSLComplaint) -> String {
        guard let rid = json[name]?.text, (1...64).contains(rid.utf8.count) else {
            throw wrong(name, "a text of 1 to 64 bytes")
        }
        return rid
    }

    /// A member that need not be there, but is of its kind where it is.
    func optional<Value>(
        _ name: String, _ read: (String) throws(HSLComplaint) -> Value
    ) throws(HSLComplaint) -> Value? {
        json[name] == nil ? nil : try read(name)
    }

    var resumeFrom: [HSLDeviceID: String] {
        guard case .object(let members)? = json["resume_from"] else { return [:] }
        return members.reduce(into: [:]) { last, member in
            if let device = HSLDeviceID(member.key) { last[device] = member.value.text }
        }
    }

    func wrong(_ name: String, _ expected: String) -> HSLComplaint {
        HSLComplaint(.badMessage, "\(name): expected \(expected)", ref: ref)
    }
}

extension HSLHello {
    fileprivate init(_ reader: Reader) throws(HSLComplaint) {
        guard reader.json["v"]?.whole == 1 else {
            throw HSLComplaint(.unsupportedVersion, "v: this side speaks version 1 alone")
        }
        guard let role = Role(rawValue: try reader.text("role")) else {
            throw reader.wrong("role", "connector or device")
        }
        guard let nonce = [UInt8](hex: try reader.text("nonce")), nonce.count == 16 else {
            throw reader.wrong("nonce", "16 bytes as 32 hex digits")
        }
        let names = reader.json["models"]?.items ?? []
        (self.role, self.nonce) = (role, nonce)
        (implementation, version) = (try reader.text("impl"), try reader.optional("impl_version", reader.text) ?? "")
        family = reader.json["sdk"]?.text.flatMap { HSLFamily(rawValue: $0) } ?? .ios
        models = names.compactMap { $0.text.flatMap { ScaleModel(rawValue: $0) } }
    }
}

extension HSLRequest {
    fileprivate init(_ reader: Reader) throws(HSLComplaint) {
        self.init(
            id: try reader.whole("id"), device: try reader.optional("dev", reader.device),
            name: try reader.text("op"), arguments: reader.json["args"] ?? [:])
    }
}

extension HSLEvent {
    fileprivate init(_ reader: Reader) throws(HSLComplaint) {
        (ref, device) = (try reader.optional("ref", reader.whole), try reader.device("dev"))
        (name, data) = (try reader.text("ev"), reader.json["data"] ?? [:])
        (number, rid) = (try reader.whole("n"), try reader.optional("rid", reader.rid))
    }
}

extension HSLResult {
    fileprivate init(_ reader: Reader) throws(HSLComplaint) {
        guard let status = Status(rawValue: try reader.text("status")) else {
            throw reader.wrong("status", "done, failed or cancelled")
        }
        (ref, self.status) = (try reader.whole("ref"), status)
        errorCode = reader.json["error"]?["code"]?.whole
        devices = reader.json["devices"]?.items?.prefix(64).compactMap(HSLDeviceInfo.init(json:))
    }

    fileprivate var json: HSLJSON {
        var members: [String: HSLJSON] = ["t": "res", "ref": .int(ref), "status": .string(status.rawValue)]
        members["error"] = errorCode.map { ["code": .int($0)] }
        members["devices"] = devices.map { .array($0.map(\.json)) }
        return .object(members)
    }
}

extension HSLDeviceInfo {
    fileprivate init?(json: HSLJSON) {
        guard let id = json["dev"]?.text.flatMap({ HSLDeviceID($0) }) else { return nil }
        func text(_ name: String) -> String? { json[name]?.text.map { String($0.prefix(64)) } }
        self.init(
            id, name: text("name"), firmware: text("firmware"), hardware: text("hardware"),
            transport: text("transport"))
    }

    fileprivate var json: HSLJSON {
        var members: [String: HSLJSON] = [
            "dev": .string("\(id)"), "model": .string(id.model.rawValue), "deviceId": .string(id.deviceId),
        ]
        members["name"] = name.map { .string($0) }
        members["firmware"] = firmware.map { .string($0) }
        members["hardware"] = hardware.map { .string($0) }
        members["transport"] = transport.map { .string($0) }
        return .object(members)
    }
}

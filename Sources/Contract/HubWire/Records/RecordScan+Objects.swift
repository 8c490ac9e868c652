import JSON
import Samples

/// Members that are objects or arrays; their contents are fixed, so that no unknown part can be lost silently.
extension RecordScan {
    /// The members of an object that was already scanned; each must be among `allowed`.
    func members(
        of object: JSONValue, _ code: RecordRejection.Code, _ place: String, allowed: [String]
    ) throws(RecordRejection) -> [String: JSONValue] {
        guard object.kind == .object else {
            throw RecordRejection(
                code,
                "\(place): expected an object of \(allowed.joined(separator: ", ")), found \(object.kind.description)")
        }
        var members: [String: JSONValue] = [:]
        for member in try entries(of: object) {
            guard let name = JSONText.string(member.name, in: bytes), allowed.contains(name) else {
                throw RecordRejection(
                    code, "\(place): has a member that is none of \(allowed.joined(separator: ", "))")
            }
            guard members.updateValue(member.value, forKey: name) == nil else {
                throw RecordRejection(.json, "\(place).\(name): occurs twice")
            }
        }
        return members
    }

    /// The members of an object that was already scanned, in order.
    func entries(of object: JSONValue) throws(RecordRejection) -> [Unknown] {
        var found: [Unknown] = []
        var scanner = JSONScanner(bytes, within: object)
        do throws(JSONSyntaxError) {
            try scanner.expect(UInt8(ascii: "{"))
            scanner.skipSpace()
            if scanner.take(UInt8(ascii: "}")) { return found }
            repeat {
                scanner.skipSpace()
                found.append(Unknown(name: try scanner.name(), value: try scanner.value()))
                scanner.skipSpace()
            } while scanner.take(UInt8(ascii: ","))
        } catch {
            throw RecordRejection(.json, "\(error)")
        }
        return found
    }

    /// The elements of an array that was already scanned.
    func elements(of array: JSONValue) throws(RecordRejection) -> [JSONValue] {
        var found: [JSONValue] = []
        var scanner = JSONScanner(bytes, within: array)
        do throws(JSONSyntaxError) {
            try scanner.expect(UInt8(ascii: "["))
            scanner.skipSpace()
            if scanner.take(UInt8(ascii: "]")) { return found }
            repeat {
                scanner.skipSpace()
                found.append(try scanner.value())
                scanner.skipSpace()
            } while scanner.take(UInt8(ascii: ","))
        } catch {
            throw RecordRejection(.json, "\(error)")
        }
        return found
    }

    /// A short text in an object; `nil` if it is absent.
    func name(
        _ value: JSONValue?, _ code: RecordRejection.Code, _ place: String
    ) throws(RecordRejection) -> String? {
        guard let value else { return nil }
        guard value.kind == .string, let text = JSONText.string(value, in: bytes), RecordScan.isName(text) else {
            throw RecordRejection(
                code,
                "\(place): expected a string of 1 to \(RecordScan.maximumName) bytes without control characters")
        }
        return text
    }

    /// The source as it was sent; `plugin` is `nil` if the record does not name it.
    func source(_ value: JSONValue) throws(RecordRejection) -> (plugin: String?, device: String?, account: String?) {
        let members = try members(of: value, .source, "source", allowed: ["plugin", "device", "account"])
        return (
            try name(members["plugin"], .source, "source.plugin"),
            try name(members["device"], .source, "source.device"),
            try name(members["account"], .source, "source.account")
        )
    }

    func subject() throws(RecordRejection) -> Subject? {
        guard let value = value(.subject) else { return nil }
        let members = try members(of: value, .person, "subject", allowed: ["account", "slot", "name"])
        guard members.count == 1 else {
            throw RecordRejection(.person, "subject: expected exactly one of account, slot, name")
        }
        if let account = try name(members["account"], .person, "subject.account") { return .account(account) }
        if let name = try name(members["name"], .person, "subject.name") { return .name(name) }
        guard let slot = members["slot"], slot.kind == .number, let number = NumberReader.integer(slot, in: bytes)
        else {
            throw RecordRejection(.person, "subject.slot: expected an integer")
        }
        return .slot(Int(number))
    }

    func provenance() throws(RecordRejection) -> Provenance {
        guard let value = value(.provenance) else { return .measured }
        if value.kind == .string, JSONText.string(value, in: bytes) == "measured" { return .measured }
        guard value.kind == .object else {
            throw RecordRejection(
                .provenance, "provenance: expected \"measured\" or an object with kind derived or filled")
        }
        let members = try members(
            of: value, .provenance, "provenance", allowed: ["kind", "formula", "version", "method", "basis"])
        let kind = try name(members["kind"], .provenance, "provenance.kind")
        let (formula, version) = (
            try name(members["formula"], .provenance, "provenance.formula"),
            try name(members["version"], .provenance, "provenance.version")
        )
        let method = try name(members["method"], .provenance, "provenance.method")
        guard let basis = members["basis"] else {
            throw RecordRejection(
                .provenance, "provenance.basis: missing; expected an array of record numbers and keys")
        }
        switch (kind, formula, version, method) {
        case ("derived", let formula?, let version?, nil):
            return .derived(formula: formula, version: version, basis: try self.basis(basis, "provenance.basis"))
        case ("filled", nil, nil, let method?):
            return .filled(method: method, basis: try self.basis(basis, "provenance.basis"))
        default:
            throw RecordRejection(
                .provenance,
                "provenance: expected {kind: derived, formula, version, basis} or {kind: filled, method, basis}")
        }
    }

    func basis(_ value: JSONValue, _ place: String) throws(RecordRejection) -> [Provenance.Basis] {
        guard value.kind == .array else {
            throw RecordRejection(.provenance, "\(place): expected an array, found \(value.kind.description)")
        }
        var basis: [Provenance.Basis] = []
        for element in try elements(of: value) {
            if element.kind == .number, let number = NumberReader.integer(element, in: bytes), number > 0 {
                basis.append(.number(number))
            } else if element.kind == .string, let key = JSONText.string(element, in: bytes).flatMap(key(of:)) {
                basis.append(.key(key))
            } else {
                throw RecordRejection(
                    .provenance, "\(place): expected record numbers (integers above 0) and keys (1 to 64 bytes)")
            }
        }
        return basis
    }

    func origin() throws(RecordRejection) -> [OriginStep] {
        guard let value = value(.origin) else { return [] }
        guard value.kind == .array else { throw rejection(.source, .origin, expected: "an array") }
        var origin: [OriginStep] = []
        for element in try elements(of: value) {
            let members = try members(of: element, .source, "origin", allowed: ["system", "account", "hub"])
            let system = try name(members["system"], .source, "origin.system")
            let account = try name(members["account"], .source, "origin.account")
            switch (system, account, try name(members["hub"], .source, "origin.hub")) {
            case (let system?, let account, nil): origin.append(.system(name: system, account: account))
            case (nil, nil, let hub?): origin.append(.hub(id: hub))
            default:
                throw RecordRejection(.source, "origin: each step is {system, account?} or {hub}")
            }
        }
        return origin
    }

    /// The unknown members and the members of `extra`, in the order of appearance.
    ///
    /// - Parameters:
    ///   - known: the members of the record's kind; others are extra even if another kind has them.
    ///   - isBounded: whether the limits of metadata apply to them, and not only the size of the record.
    func extra(known: RecordMembers, isBounded: Bool = true) throws(RecordRejection) -> JSONObject? {
        let foreign = members.subtracting(known)
        guard !unknown.isEmpty || !foreign.isEmpty || members.contains(.extra) else { return nil }
        var parts = unknown.map { member in
            (start: member.value.start, name: JSONText.compact(member.name, in: bytes), value: member.value)
        }
        for member in RecordMember.allCases where foreign.contains(member) {
            if let value = value(member) { parts.append((value.start, "\"\(member.name)\"", value)) }
        }
        if let object = value(.extra) {
            guard object.kind == .object else { throw rejection(.metadata, .extra, expected: "an object") }
            for member in try entries(of: object) {
                parts.append((member.value.start, JSONText.compact(member.name, in: bytes), member.value))
            }
        }
        guard !parts.isEmpty else { return nil }
        parts.sort { $0.start < $1.start }
        try refuseRepeated(parts.map(\.name))
        let text = parts.map { "\($0.name):\(JSONText.compact($0.value, in: bytes))" }.joined(separator: ",")
        return try RecordScan.bounded(
            "{\(text)}", depth: 1 + (parts.map(\.value.depth).max() ?? 0), "members this version does not know",
            maximum: isBounded ? JSONObject.maximumBytes : RecordDecoder.maximumRecordBytes)
    }

    private func refuseRepeated(_ names: [String]) throws(RecordRejection) {
        guard Set(names).count < names.count else { return }
        throw RecordRejection(.json, "extra: repeats a member name")
    }
}

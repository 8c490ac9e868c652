import GRDB
import Samples
import WebFaults

// The five calls that accept a list of objects and answer for each of them.
extension SimulatedExist {
    enum Action: String {
        case acquire = "attributes/acquire/"
        case release = "attributes/release/"
        case create = "attributes/create/"
        case update = "attributes/update/"
        case increment = "attributes/increment/"
    }

    /// The reason why an object was refused.
    struct WriteError: Error {
        let code: String
        let text: String

        init(_ code: String, _ text: String) { (self.code, self.text) = (code, text) }

        static func foreign(_ name: String) -> WriteError {
            WriteError("unauthorised", "Attribute '\(name)' does not belong to this service")
        }
        static func scope(_ group: String) -> WriteError {
            WriteError("unauthorised", "No permission to write to group '\(group)'")
        }
        static func unknown(_ name: String) -> WriteError {
            WriteError("not_found", "Attribute '\(name)' does not exist")
        }
        static func invalid(_ text: String) -> WriteError { WriteError("validation", text) }

        /// The call is refused as a whole.
        static let forbidden = WriteError("forbidden", "You do not have permission to perform this action.")
    }

    func write(_ exchange: Exchange, _ caller: Caller, _ action: Action) throws -> WebAnswer {
        guard let objects = exchange.request.json?.list else {
            return Self.detail(400, "JSON parse error - expected an array.")
        }
        guard objects.count <= exchange.switches.largestBatch else {
            return Self.detail(400, "Too many objects, at most \(exchange.switches.largestBatch).")
        }
        var (done, failed): ([JSONTree], [JSONTree]) = ([], [])
        var isForbidden = false
        // A call that is refused as a whole changes nothing.
        try exchange.database.inSavepoint {
            for (index, object) in objects.enumerated() {
                do {
                    done.append(try apply(object, index, exchange, caller, action))
                } catch let refusal as WriteError {
                    isForbidden = refusal.code == WriteError.forbidden.code
                    if isForbidden { return .rollback }
                    failed.append(
                        .object(
                            (object.members ?? []) + [
                                .init("error_code", .text(refusal.code)), .init("error", .text(refusal.text)),
                            ]))
                }
            }
            return .commit
        }
        if isForbidden { return Self.detail(403, WriteError.forbidden.text) }
        return Self.answer(done, failed, exchange)
    }

    /// The answer, with the faults that a test requests.
    private static func answer(_ done: [JSONTree], _ failed: [JSONTree], _ exchange: Exchange) -> WebAnswer {
        var (shown, refused) = (done, failed)
        if exchange.has("lost-object") {
            if shown.isEmpty { refused = Array(refused.dropFirst()) } else { shown.removeFirst() }
        }
        if exchange.has("reordered") { (shown, refused) = (shown.reversed(), refused.reversed()) }
        if exchange.has("title-for-name") {
            shown = shown.map { object in
                .object((object.members ?? []).map { .init($0.name == "name" ? "title" : $0.name, $0.value) })
            }
        }
        var members: [JSONTree.Member] = [.init("success", .list(shown))]
        if !exchange.has("no-failed") { members.append(.init("failed", .list(refused))) }
        return .json(.object(members), failed.isEmpty ? 200 : 202)
    }

    private func apply(
        _ object: JSONTree, _ index: Int, _ exchange: Exchange, _ caller: Caller, _ action: Action
    ) throws -> JSONTree {
        switch action {
        case .acquire: try acquire(object, index, exchange, caller)
        case .release: try release(object, index, exchange, caller)
        case .create: try create(object, index, exchange, caller)
        case .update: try update(object, index, exchange, caller)
        case .increment: try increment(object, index, exchange, caller)
        }
    }

    func need(_ names: [String], of object: JSONTree, _ index: Int) throws {
        let missing = names.filter { object[$0] == nil }
        guard missing.isEmpty else {
            let list = missing.map { "'\($0)'" }.joined(separator: ", ")
            throw WriteError("missing_field", "Object at index \(index) missing field(s) \(list)")
        }
    }

    func allow(_ caller: Caller, _ group: String, _ isManual: Bool, _ exchange: Exchange) throws {
        guard !caller.has("write", group, isManual) else { return }
        if exchange.switches.scopeRefusesCall { throw WriteError.forbidden }
        throw WriteError.scope(group)
    }

    // MARK: - Ownership

    private func acquire(
        _ object: JSONTree, _ index: Int, _ exchange: Exchange, _ caller: Caller
    ) throws -> JSONTree {
        let template = object["template"]?.text
        guard let name = template ?? object["name"]?.text else { try need(["name"], of: object, index); return .null }
        let isManual = object["manual"]?.truth ?? false
        var found = try StoredExistAttribute.find(name, of: caller.user, in: exchange.database)
        if found == nil, let template {
            guard let known = ExistTemplate.byName[template] else {
                throw WriteError("not_found", "Template '\(template)' does not exist")
            }
            try allow(caller, known.group, isManual, exchange)
            try insert(
                known.name, template: known.name, known.label, known.group, known.type, isManual, known.priority,
                caller, exchange)
            found = try StoredExistAttribute.find(name, of: caller.user, in: exchange.database)
        }
        guard let found else { throw WriteError.unknown(name) }
        try allow(caller, found.group, isManual || found.isManual, exchange)
        try exchange.database.execute(
            sql: "UPDATE attribute SET owner = ?, manual = ?, active = 1 WHERE id = ?",
            arguments: [caller.client, isManual, found.id])
        try provides(found.id, caller, exchange)
        return try shown(object, name, exchange, caller)
    }

    private func release(
        _ object: JSONTree, _ index: Int, _ exchange: Exchange, _ caller: Caller
    ) throws -> JSONTree {
        try need(["name"], of: object, index)
        let name = object["name"]?.text ?? ""
        guard let found = try StoredExistAttribute.find(name, of: caller.user, in: exchange.database),
            found.owner == caller.client
        else { throw WriteError.foreign(name) }
        try exchange.database.execute(
            sql: "DELETE FROM provider WHERE attribute = ? AND service = ?", arguments: [found.id, caller.client])
        let next = try String.fetchOne(
            exchange.database, sql: "SELECT service FROM provider WHERE attribute = ? ORDER BY service",
            arguments: [found.id])
        try exchange.database.execute(
            sql: "UPDATE attribute SET owner = ?, active = ? WHERE id = ?", arguments: [next, next != nil, found.id])
        return try shown(object, name, exchange, caller)
    }

    private func create(
        _ object: JSONTree, _ index: Int, _ exchange: Exchange, _ caller: Caller
    ) throws -> JSONTree {
        let isManual = object["manual"]?.truth ?? true
        if let template = object["template"]?.text {
            guard let known = ExistTemplate.byName[template] else {
                throw WriteError("not_found", "Template '\(template)' does not exist")
            }
            try allow(caller, known.group, isManual, exchange)
            return try create(
                object, known.name, template: known.name, known.label, known.group, known.type, isManual, exchange,
                caller)
        }
        try need(["label", "group", "value_type"], of: object, index)
        guard let label = object["label"]?.text, !label.isEmpty else {
            throw WriteError.invalid("label: may not be blank")
        }
        guard let group = object["group"]?.text, ExistGroup.byName[group] != nil else {
            throw WriteError.invalid("group: no such group")
        }
        guard let number = object["value_type"]?.integer, let type = ValueType(rawValue: number),
            type != .timeFromMidday
        else { throw WriteError.invalid("value_type: not possible for a custom attribute") }
        try allow(caller, group, isManual, exchange)
        return try create(object, Self.slug(label), template: nil, label, group, type, isManual, exchange, caller)
    }

    private func create(
        _ object: JSONTree, _ name: String, template: String?, _ label: String, _ group: String, _ type: ValueType,
        _ isManual: Bool, _ exchange: Exchange, _ caller: Caller
    ) throws -> JSONTree {
        guard !name.isEmpty, try StoredExistAttribute.find(name, of: caller.user, in: exchange.database) == nil else {
            throw WriteError("exists", "Attribute '\(name)' already exists")
        }
        let id = try insert(
            name, template: template, label, group, type, isManual,
            template.flatMap { ExistTemplate.byName[$0]?.priority } ?? 2,
            caller, exchange)
        try provides(id, caller, exchange)
        return try shown(object, name, exchange, caller)
    }

    @discardableResult private func insert(
        _ name: String, template: String?, _ label: String, _ group: String, _ type: ValueType, _ isManual: Bool,
        _ priority: Int, _ caller: Caller, _ exchange: Exchange
    ) throws -> Int64 {
        try exchange.database.execute(
            sql: """
                INSERT INTO attribute (user, name, template, label, "group", type, manual, active, priority, owner)
                VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?, ?)
                """,
            arguments: [caller.user, name, template, label, group, type.rawValue, isManual, priority, caller.client])
        return exchange.database.lastInsertedRowID
    }

    private func provides(_ attribute: Int64, _ caller: Caller, _ exchange: Exchange) throws {
        try exchange.database.execute(
            sql: "INSERT OR IGNORE INTO provider VALUES (?, ?)", arguments: [attribute, caller.client])
    }

    /// The sent object or, with `success_objects`, its current state.
    private func shown(
        _ object: JSONTree, _ name: String, _ exchange: Exchange, _ caller: Caller
    ) throws -> JSONTree {
        guard let found = try StoredExistAttribute.find(name, of: caller.user, in: exchange.database) else {
            return object
        }
        if exchange.flag("success_objects") { return try self.object(found, exchange, services: true) }
        var members = object.members ?? []
        if object["name"] == nil { members.append(.init("name", .text(name))) }
        members.append(.init("priority", JSONTree(found.priority)))
        return .object(members)
    }

    /// Small letters, `_` for spaces, and no other punctuation.
    static func slug(_ label: String) -> String {
        String(
            label.lowercased().compactMap { character in
                character == " "
                    ? "_"
                    : character.isASCII && (character.isLetter || character.isNumber || character == "_")
                        ? character : nil
            })
    }
}

import Foundation
import GRDB
import Samples
import WebFaults

// Read access: the profile, attributes and their values.
extension SimulatedExist {
    func profile(_ exchange: Exchange, _ caller: Caller) throws -> WebAnswer {
        let zone = try String.fetchOne(
            exchange.database, sql: "SELECT zone FROM user WHERE name = ?", arguments: [caller.user])
        return .json([
            "username": .text(caller.user), "first_name": .text(ExistTemplate.label(caller.user)), "last_name": "",
            "avatar": .text("https://exist.io/media/avatars/\(caller.user).png"), "timezone": JSONTree(zone),
            "local_time": .text(Self.localTime(exchange.now, zone ?? "UTC")), "imperial_distance": false,
            "imperial_weight": false, "imperial_energy": false, "imperial_liquid": false,
            "imperial_temperature": false, "trial": false, "delinquent": false,
        ])
    }

    /// `2024-05-20T21:14:03.250117+02:00`, always with six digits.
    private static func localTime(_ now: Int64, _ zone: String) -> String {
        let seconds = Double(now) / 1_000_000
        let offset = TimeZone(identifier: zone)?.secondsFromGMT(for: Date(timeIntervalSince1970: seconds)) ?? 0
        let time = Timestamp(microseconds: now, offsetMinutes: Int16(offset / 60))
        let text = time.text
        // Timestamps omit trailing zeros.
        let fraction = String(now % 1_000_000 + 1_000_000).dropFirst()
        let sign = offset < 0 ? "-" : "+"
        let minutes = abs(offset) / 60
        func two(_ number: Int) -> String { (number < 10 ? "0" : "") + "\(number)" }
        return "\(text.prefix(19)).\(fraction)\(sign)\(two(minutes / 60)):\(two(minutes % 60))"
    }

    func templates(_ exchange: Exchange) -> WebAnswer {
        let groups = exchange.names("groups")
        let all = ExistTemplate.all.filter { groups == nil || groups?.contains($0.group) == true }
        return exchange.page(
            all.map { template in
                [
                    "name": .text(template.name), "label": .text(template.label),
                    "group": Self.group(template.group), "priority": JSONTree(template.priority),
                    "value_type": JSONTree(template.type.rawValue),
                    "value_type_description": .text(template.type.description),
                ]
            })
    }

    func attributes(_ exchange: Exchange, _ caller: Caller, owned: Bool) throws -> WebAnswer {
        let all = try visible(exchange, caller).filter { attribute in
            (!owned || attribute.owner == caller.client) && (attribute.isActive || exchange.flag("include_inactive"))
                && (attribute.priority < 10 || exchange.flag("include_low_priority"))
                && (attribute.template != nil || !exchange.flag("exclude_custom"))
        }
        return exchange.page(try all.map { try object($0, exchange, services: true) })
    }

    func attributesWithValues(_ exchange: Exchange, _ caller: Caller) throws -> WebAnswer {
        let days = Int(exchange.request.query("days") ?? "1") ?? 1
        let last = try exchange.request.query("date_max").flatMap { LocalDate($0) } ?? today(caller.user, exchange)
        guard (1...31).contains(days) else { return Self.detail(400, "days: expected 1 to 31.") }
        let templates = exchange.names("templates")
        let all = try visible(exchange, caller).filter { attribute in
            attribute.isActive
                && (templates == nil || attribute.template.map { templates?.contains($0) == true } == true)
        }
        return exchange.page(
            try all.map { attribute in
                guard case .object(var members) = try object(attribute, exchange, services: false) else { return nil }
                let dates = (0..<days).map { last.adding(days: -$0) }
                members.append(.init("values", .list(try values(of: attribute, dates, exchange))))
                return .object(members)
            })
    }

    func values(_ exchange: Exchange, _ caller: Caller) throws -> WebAnswer {
        guard let name = exchange.request.query("attribute") else {
            return Self.detail(400, "attribute: this field is required.")
        }
        guard let attribute = try visible(exchange, caller).first(where: { $0.name == name }) else {
            return exchange.page([])
        }
        let last = try exchange.request.query("date_max").flatMap { LocalDate($0) } ?? today(caller.user, exchange)
        let first = try String.fetchOne(
            exchange.database, sql: "SELECT min(date) FROM value WHERE attribute = ?", arguments: [attribute.id]
        ).flatMap { LocalDate($0) }
        let count = first.map { max(0, last.daysSinceEpoch - $0.daysSinceEpoch + 1) } ?? 0
        let (number, limit) = exchange.place
        let dates = (0..<count).dropFirst((number - 1) * limit).prefix(limit).map { last.adding(days: -$0) }
        return exchange.page(try values(of: attribute, dates, exchange), of: count)
    }

    /// The attributes that the token's scopes permit; requesting more is not an error.
    private func visible(_ exchange: Exchange, _ caller: Caller) throws -> [StoredExistAttribute] {
        let (groups, names) = (exchange.names("groups"), exchange.names("attributes"))
        let manual = exchange.request.query("manual").map { ["1", "true"].contains($0) }
        return try StoredExistAttribute.all(of: caller.user, in: exchange.database).filter { attribute in
            caller.has("read", attribute.group, attribute.isManual)
                && (groups == nil || groups?.contains(attribute.group) == true)
                && (names == nil || names?.contains(attribute.name) == true)
                && (manual == nil || manual == attribute.isManual)
        }
    }

    private func values(
        of attribute: StoredExistAttribute, _ dates: [LocalDate], _ exchange: Exchange
    ) throws -> [JSONTree] {
        let missing: JSONTree = exchange.switches.zeroForMissing && attribute.type.isQuantity ? 0 : nil
        let statement = try exchange.database.cachedStatement(
            sql: "SELECT json FROM value WHERE attribute = ? AND date = ?")
        return try dates.map { date in
            let json = try String.fetchOne(statement, arguments: [attribute.id, date.text])
            return ["date": .text(date.text), "value": json.flatMap { JSONTree(Array($0.utf8)) } ?? missing]
        }
    }

    // MARK: - Objects

    static func group(_ name: String) -> JSONTree {
        let group = ExistGroup.byName[name]
        return [
            "name": .text(name), "label": .text(group?.label ?? name), "priority": JSONTree(group?.priority ?? 9),
        ]
    }

    func object(_ attribute: StoredExistAttribute, _ exchange: Exchange, services: Bool) throws -> JSONTree {
        var members: [JSONTree.Member] = [
            .init("template", JSONTree(attribute.template)), .init("name", .text(attribute.name)),
            .init("label", .text(attribute.label)), .init("group", Self.group(attribute.group)),
            .init("service", try attribute.owner.map { try service($0, exchange) } ?? .null),
            .init("active", .truth(attribute.isActive)), .init("priority", JSONTree(attribute.priority)),
            .init("manual", .truth(attribute.isManual)), .init("value_type", JSONTree(attribute.type.rawValue)),
            .init("value_type_description", .text(attribute.type.description)),
        ]
        if services {
            let all = try String.fetchAll(
                exchange.database, sql: "SELECT service FROM provider WHERE attribute = ? ORDER BY service",
                arguments: [attribute.id])
            members.append(.init("available_services", .list(try all.map { try service($0, exchange) })))
        }
        return .object(members)
    }

    private func service(_ name: String, _ exchange: Exchange) throws -> JSONTree {
        let label = try String.fetchOne(
            exchange.database, sql: "SELECT label FROM client WHERE id = ?", arguments: [name])
        return ["name": .text(name), "label": .text(label ?? ExistTemplate.label(name))]
    }
}

extension SimulatedExist.Caller {
    /// Whether a scope covers an attribute: the scope of its group, or that of manual attributes.
    func has(_ right: String, _ group: String, _ isManual: Bool) -> Bool {
        scopes.contains("\(group)_\(right)") || isManual && scopes.contains("manual_\(right)")
    }
}

extension SimulatedExist.Exchange {
    func flag(_ name: String) -> Bool { ["1", "true"].contains(request.query(name)) }

    /// A comma-separated member of the query.
    func names(_ name: String) -> Set<String>? {
        request.query(name).map { Set($0.split(separator: ",").map(String.init)) }
    }

    /// The requested page and length, within the limits of the service.
    var place: (number: Int, limit: Int) {
        (
            // A page beyond all pages is empty, and the limit keeps computations with its number from overflowing.
            min(1_000_000_000, max(1, request.query("page").flatMap { Int($0) } ?? 1)),
            min(100, max(1, request.query("limit").flatMap { Int($0) } ?? 20))
        )
    }

    /// - Parameter count: the total number of items, if `items` is already a single page.
    func page(_ items: [JSONTree], of count: Int? = nil) -> WebAnswer {
        let (number, limit) = place
        let total = count ?? items.count
        let shown = count == nil ? Array(items.dropFirst((number - 1) * limit).prefix(limit)) : items
        // The documented form: its scheme differs from the request's, and the other parameters are missing.
        func link(_ number: Int) -> JSONTree {
            .text("\(switches.nextScheme)://exist.io\(request.path)?page=\(number)")
        }
        return .json([
            "count": JSONTree(total), "next": number * limit < total ? link(number + 1) : nil,
            "previous": number > 1 ? link(number - 1) : nil, "results": .list(shown),
        ])
    }
}

import CloudClient
import Foundation
import PluginKit

// An attribute belongs to one service at a time. The exporter takes each attribute once and does not fight for it.
extension Exporter {
    private struct OwnedPage: Decodable, Sendable {
        struct Entry: Decodable, Sendable {
            var name: String
            var template: String?
            var label: String?
        }
        var next: String?
        var results: [Entry]
    }

    /// Takes over attributes that are not known to be ours; looks once a day whether a lost attribute has come back.
    func own() async throws {
        let missing = settings.attributes.filter {
            account.ownership[$0.name]?.name == nil && account.ownership[$0.name]?.lost == nil
        }
        if !missing.isEmpty { try await acquire(missing) }
        let lost = settings.attributes.filter { account.ownership[$0.name]?.lost != nil }
        guard !lost.isEmpty, account.listed.map({ now - $0 >= 86_400_000_000 }) ?? true else { return }
        account.listed = now
        let owned = try await listOwned()
        for attribute in lost {
            guard let found = owned.first(where: { Self.isSame($0, attribute) }) else { continue }
            account.ownership[attribute.name]?.lost = nil
            account.ownership[attribute.name]?.name = found.name
        }
        try await save()
    }

    private static func isSame(_ entry: OwnedPage.Entry, _ attribute: ExistAttribute) -> Bool {
        attribute.label.map { $0 == entry.label } ?? (entry.template == attribute.name)
    }

    /// Lists all attributes of this client by page number; the next-page address in an answer is not used.
    private func listOwned() async throws -> [OwnedPage.Entry] {
        var all: [OwnedPage.Entry] = []
        for number in 1...20 {
            let page: OwnedPage = try await read(ExistService.owned(page: number))
            all += page.results
            if page.next == nil { break }
        }
        return all
    }

    /// Takes ownership: of templates in one call, of custom attributes by creating them.
    func acquire(_ attributes: [ExistAttribute]) async throws {
        let groups = Dictionary(grouping: attributes, by: \.isTemplate)
        for chunk in Self.chunks(groups[true] ?? []) {
            let texts = chunk.map { "{\"template\":\(JSONDigits.text($0.name)),\"manual\":false}" }
            let results = try await ask(.acquire, texts, chunk.map { .init(name: $0.name) })
            for (attribute, result) in zip(chunk, results) { try await note(result, of: attribute) }
        }
        for chunk in Self.chunks(groups[false] ?? []) {
            let texts = chunk.map { attribute in
                "{\"label\":\(JSONDigits.text(attribute.label ?? "")),\"group\":\(JSONDigits.text(attribute.group)),"
                    + "\"value_type\":\(attribute.type.rawValue),\"manual\":false}"
            }
            let results = try await ask(.create, texts, chunk.map { .init(name: $0.name, label: $0.label) })
            var owned: [OwnedPage.Entry]?
            for (attribute, result) in zip(chunk, results) {
                if case .failed = result {
                    // The attribute probably exists already, created by an earlier installation of this instance.
                    if owned == nil { owned = try await listOwned() }
                    if let found = owned?.first(where: { Self.isSame($0, attribute) }) {
                        try await note(.done(name: found.name), of: attribute)
                        continue
                    }
                }
                try await note(result, of: attribute)
            }
        }
    }

    private static func chunks(_ attributes: [ExistAttribute]) -> [[ExistAttribute]] {
        stride(from: 0, to: attributes.count, by: ExistService.batch).map {
            Array(attributes[$0..<min($0 + ExistService.batch, attributes.count)])
        }
    }

    private func ask(
        _ action: ExistService.Action, _ texts: [String], _ objects: [WriteAnswer.Object]
    ) async throws -> [WriteAnswer.Result] {
        let answer = try await call(ExistService.write(action, texts))
        guard answer.status != 400 else {
            return objects.map { _ in .failed(code: "400", text: "Exist refuses the whole call") }
        }
        guard let read = try? answer.json(WriteAnswer.self) else {
            throw try await setback("Exist's answer to \(action.rawValue) cannot be read", hadNoEffect: false)
        }
        return read.results(of: objects)
    }

    private func note(_ result: WriteAnswer.Result, of attribute: ExistAttribute) async throws {
        switch result {
        case .done(let name):
            account.ownership[attribute.name, default: .init()].name = name
            account.ownership[attribute.name]?.lost = nil
            try await save()
        case .failed("already_owned", _): try await note(.done(name: attribute.name), of: attribute)
        case .failed(let code, _): try await giveUp(attribute.name, "Exist does not give it to this log-in (\(code))")
        case .unknown: throw try await setback("Exist's answer did not name every attribute", hadNoEffect: false)
        }
    }

    /// Stops sending this attribute and reports that once.
    func giveUp(_ name: String, _ why: String) async throws {
        let reacquired = account.ownership[name]?.reacquired
        let reason = "\(name): \(why); hub do \(hub.instance) acquire takes it back"
        account.ownership[name] = .init(name: nil, lost: reason, reacquired: reacquired)
        account.listed = now
        try await save()
        await tell("ownership", .warning, reason)
    }

    /// Releases attributes; Exist keeps their values.
    func release() async throws -> [String] {
        let mine = settings.attributes.filter { account.ownership[$0.name]?.name != nil }
        var released: [String] = []
        for chunk in Self.chunks(mine) {
            let names = chunk.map { account.ownership[$0.name]?.name ?? $0.name }
            let texts = names.map { "{\"name\":\(JSONDigits.text($0))}" }
            let results = try await ask(.release, texts, names.map { .init(name: $0) })
            for (attribute, result) in zip(chunk, results) {
                if case .unknown = result { continue }
                account.ownership[attribute.name] = .init(
                    lost: "\(attribute.name): it was given back; hub do \(hub.instance) acquire takes it again")
                released.append(attribute.name)
            }
            try await save()
        }
        return released
    }
}

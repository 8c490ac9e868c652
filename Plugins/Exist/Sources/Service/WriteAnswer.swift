import CloudClient
import Foundation

/// What Exist answered to a list of objects, read with tolerance: members under other names, in another order, or missing.
struct WriteAnswer: Decodable, Sendable {
    var success: [Entry]?
    var failed: [Entry]?

    struct Entry: Decodable, Sendable {
        var name: String?
        var title: String?
        var template: String?
        var label: String?
        var date: String?
        var error_code: String?
        var error: String?

        /// Whether it is about the object of that name.
        func concerns(_ object: Object) -> Bool {
            [name, title, template].contains(object.name) && (object.date == nil || date == object.date)
                || object.label != nil && label == object.label
        }

        /// The place that the text of an error tells: `Object at index 1 missing …`.
        var index: Int? {
            error?.firstMatch(of: /index ([0-9]+)/).flatMap { Int($0.1) }
        }
    }

    /// What was asked for.
    struct Object: Sendable {
        var name: String
        var date: String?
        var label: String?
    }

    enum Result: Hashable, Sendable {
        /// With the name that Exist gives it.
        case done(name: String)
        case failed(code: String, text: String)
        /// In neither list: not known.
        case unknown
    }

    /// A result per object, in their order.
    func results(of objects: [Object]) -> [Result] {
        objects.enumerated().map { place, object in
            if let entry = failed?.first(where: { $0.concerns(object) }) ?? failed?.first(where: { $0.index == place })
            {
                return .failed(code: entry.error_code ?? "unknown", text: entry.error ?? "")
            }
            guard let entry = success?.first(where: { $0.concerns(object) }) else { return .unknown }
            return .done(name: entry.name ?? entry.title ?? object.name)
        }
    }
}

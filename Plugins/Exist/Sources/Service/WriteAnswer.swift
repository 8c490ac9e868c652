import CloudClient
import Foundation

/// Exist's answer to a list of objects; members may have other names, be in another order, or be missing.
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

        /// Whether this entry is about the object.
        func concerns(_ object: Object) -> Bool {
            [name, title, template].contains(object.name) && (object.date == nil || date == object.date)
                || object.label != nil && label == object.label
        }

        /// The index in the text of an error: `Object at index 1 missing …`.
        var index: Int? {
            error?.firstMatch(of: /index ([0-9]+)/).flatMap { Int($0.1) }
        }
    }

    /// An object of the request.
    struct Object: Sendable {
        var name: String
        var date: String?
        var label: String?
    }

    enum Result: Hashable, Sendable {
        /// The name that Exist gives the object.
        case done(name: String)
        case failed(code: String, text: String)
        /// The object is in neither list, so its result is unknown.
        case unknown
    }

    /// One result per object, in the order of the objects.
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

import HTMLText
import HealthText
import Hummingbird
import PluginKit

/// The newest samples of one type.
struct TypePage: Sendable {
    private static let most: Int64 = 100

    let reader: HealthReader

    static func link(_ type: TypeID, _ person: String) -> HTML {
        let address = "/types/\(type.rawValue)?" + FormText.write([(name: "person", value: person)])
        return "<a href=\"\(url: address)\">\(TypeName.text(type))</a>"
    }

    func response(_ name: String, _ choice: Choice) async throws -> Response {
        guard let person = choice.person, let type = TypeRegistry.standard.resolve(name)?.id ?? Self.foreign(name)
        else {
            throw NoSuchPage()
        }
        let records = try await reader.newest(type, of: person, limit: Self.most)
        let frame = Frame(
            title: "\(TypeName.text(type)) of \(person.name)", choice: choice,
            path: "/types/\(type.rawValue)")
        guard !records.isEmpty else {
            return PageAnswer.page(frame.html("<p>There are no samples of this type.</p>"))
        }
        var table = HTMLTable(
            caption: records.count < Int(Self.most) ? "All samples" : "The newest \(Self.most) samples",
            columns: ["Number", "Value", "When", "Source"])
        for record in records {
            table.rows.append(["\(record.number)"] + RecordCells(record, for: person.reader).html)
        }
        return PageAnswer.page(frame.html(table.html))
    }

    /// A type that only plugins know.
    private static func foreign(_ name: String) -> TypeID? { name.hasPrefix("x.") ? try? TypeID(name) : nil }
}

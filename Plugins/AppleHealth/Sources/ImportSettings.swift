import AppleExport
import Foundation
import PluginKit
import Samples

/// The validated settings of one instance.
struct ImportSettings: Sendable {
    var folder: String
    var account: String?
    var zone: String?
    /// Without the days, which depend on the person's zone.
    private var filter: ExportFilter
    private var since, until: LocalDate?
    var interval: Duration

    static let declarations: [SettingDeclaration] = [
        SettingDeclaration(
            "folder", .path, help: "Where you put export.zip, or export.xml and the folders beside it.", required: true,
            access: .read),
        SettingDeclaration(
            "account", .string(TextRule(example: "anna")),
            help:
                "Whose exports they are, if this hub gets those of several people; part of each record's identity."
        ),
        SettingDeclaration(
            "zone", .timeZone,
            help: "The time zone where the person lives, for values without a zone, like most of an export."),
        SettingDeclaration(
            "types", .list(of: .string(TextRule(example: "weight"))), help: "Only these types; all if it is not set."),
        SettingDeclaration(
            "sources", .list(of: .string(TextRule(example: "Anna's iPhone"))),
            help: "Only records of these sources, by the names that the Health app shows; all if it is not set."),
        SettingDeclaration(
            "since", .date, help: "Only records that ended on this day or later, where the person lives."),
        SettingDeclaration(
            "until", .date, help: "Only records that began on this day or before, where the person lives."),
        SettingDeclaration(
            "look_every", .duration(Bounds(.init(microseconds: 1_000_000), .init(microseconds: 86_400_000_000))),
            help: "How often the folder is checked for exports.", default: .string("10s")),
    ]

    /// - Throws: ``PluginFailure`` that names the invalid setting.
    init(_ settings: PluginSettings) throws {
        folder = try settings.text("folder")
        account = settings["account"]?.string
        zone = settings["zone"]?.string
        interval = .microseconds(try settings.duration("look_every").microseconds)
        let name = account
        let types: Set<TypeID>?
        (types, since, until, _) = try PluginSettings.all(
            { try settings["types"]?.strings.map { Set(try PluginSettings.each($0, ImportSettings.type)) } },
            { try ImportSettings.day("since", settings) }, { try ImportSettings.day("until", settings) },
            {
                if let name, name.utf8.count > 256 || name.unicodeScalars.contains(where: { $0.value < 0x20 }) {
                    throw PluginFailure(.settings, "setting account: expected a name of at most 256 bytes")
                }
            })
        filter = ExportFilter(types: types, sources: settings["sources"]?.strings.map(Set.init))
    }

    private static func type(_ name: String) throws -> TypeID {
        if let known = TypeRegistry.standard.resolve(name) { return known.id }
        if let id = try? TypeID(name), ExportReader.declaredTypes.contains(id) || name.hasPrefix("HK") { return id }
        throw PluginSettings.unknownType(name)
    }

    private static func day(_ name: String, _ settings: PluginSettings) throws -> LocalDate? {
        guard let text = settings[name]?.string else { return nil }
        guard let date = LocalDate(text) else {
            throw PluginFailure(.settings, "setting \(name): expected a day, such as 2024-03-15")
        }
        return date
    }

    /// - Parameter personZone: the zone of the person; the machine's if it is nil.
    func options(personZone: String?) -> ExportOptions {
        let dayZone = zone ?? personZone ?? TimeZone.current.identifier
        var filter = filter
        let clocks = TimeZone(identifier: dayZone) ?? .current
        func second(_ date: LocalDate) -> Int64 {
            LocalDay.start(of: date, in: clocks).microseconds.flooredDivision(by: 1_000_000)
        }
        filter.from = since.map(second)
        filter.to = until.map { second($0.adding(days: 1)) }
        return ExportOptions(account: account, zone: zone, dayZone: dayZone, filter: filter)
    }
}

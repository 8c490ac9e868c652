public import Foundation
public import Samples

/// A person's settings for reading values: locale, units and clock.
public struct DisplayPreferences: Hashable, Sendable {
    /// The name to show, if it differs from the one in `hub.conf`.
    public var displayName: String?
    /// `nil` if unknown: then numbers are English, and dates are `yyyy-MM-dd`.
    public var locale: Locale?
    /// The units that the person has chosen, by type, in HealthKit's spelling.
    public var units: [TypeID: String]
    /// The unit of all body masses that ``units`` does not contain: `kg`, `lb` or `st`.
    public var weightUnit: String?
    /// The style of units: `70 in`, or `70 inches`.
    public var unitWidth = TextWidth.medium
    /// The zone in which times are shown; `nil` if unknown: then they keep their original offset.
    public var zone: TimeZone?

    public init(
        displayName: String? = nil, locale: Locale? = nil, units: [TypeID: String] = [:], weightUnit: String? = nil,
        zone: TimeZone? = nil
    ) {
        self.displayName = displayName
        (self.locale, self.units, self.weightUnit, self.zone) = (locale, units, weightUnit, zone)
    }

    /// The same settings without a name, to compare the settings of several persons.
    public var unnamed: DisplayPreferences {
        var reader = self
        reader.displayName = nil
        return reader
    }

    /// The unit in which the person reads values given in `own`: the person's, else the locale's, else the usual one.
    ///
    /// - Parameter type: `nil` for a type that only plugins know.
    public func unit(_ own: String, of type: HealthType?) -> String {
        if let type, let unit = units[type.id] { return unit }
        let usual = DisplayPreferences.usual(own, type)
        for unit in weightUnit == "st" ? ["st", "lb"] : [weightUnit].compactMap(\.self) where usual.contains(unit) {
            return unit
        }
        let regional = locale?.region.flatMap { UsualUnits.unit(among: usual, in: $0.identifier) }
        // `ft+in` means two combined units.
        return regional ?? usual.first { !$0.contains("+") } ?? own
    }

    /// The units that the person has chosen or that differ from the usual ones, by type.
    public var ownUnits: [TypeID: String] {
        var found: [TypeID: String] = [:]
        for type in TypeRegistry.standard.all {
            guard let own = type.unit else { continue }
            let unit = unit(own, of: type)
            if units[type.id] != nil || unit != DisplayPreferences().unit(own, of: type) {
                found[type.id] = PeopleUnit(unit).spelling
            }
        }
        return found
    }

    /// The units in which people read values given in `own`, the usual one first.
    private static func usual(_ own: String, _ type: HealthType?) -> [String] {
        let units = type?.typicalDisplayUnits ?? []
        guard units.isEmpty else { return type?.unit == own ? units : [own] }
        return own == "kg" ? ["kg", "lb", "st"] : [own]
    }

    /// The usual units of a type as text: `kg, lb, st or another unit of mass`.
    public static func readable(_ type: HealthType) -> String {
        let units = (type.typicalDisplayUnits.map { $0 == "ft+in" ? "ft" : $0 } + [type.unit].compactMap(\.self))
            .map { PeopleUnit($0).spelling }
        var told: [String] = []
        for unit in units where !told.contains(unit) { told.append(unit) }
        return told.joined(separator: ", ") + (type.dimension.map { " or another unit of \(words($0))" } ?? "")
    }

    /// Splits a name into words: `massConcentration` becomes `mass concentration`.
    private static func words(_ name: String) -> String {
        name.map { $0.isUppercase ? " \($0.lowercased())" : "\($0)" }.joined()
    }

    // MARK: - Dates

    /// The format for values of a type that are given in `unit`.
    public func format(_ unit: String, of type: TypeID?) -> ValueFormat {
        ValueFormat(unit, of: type.flatMap(TypeRegistry.standard.type), for: self, unitWidth)
    }

    /// A day with its month in words, or as `yyyy-MM-dd` if the locale is unknown.
    public func date(_ date: LocalDate) -> String {
        guard let locale else { return date.text }
        return HealthFormatter(locale).date(date)
    }

    /// A time on the person's clock; unchanged if their zone is unknown.
    package func local(_ time: Timestamp) -> Timestamp { zone.map { time.local(in: $0) } ?? time }

    // MARK: - Weeks

    /// The first day of the week in the locale; Monday if the locale is unknown.
    public var firstWeekday: Locale.Weekday { locale?.firstDayOfWeek ?? .monday }

    /// Days from Monday to the first day of the week: 0 to 6.
    package var daysToFirstWeekday: Int {
        let days: [Locale.Weekday] = [.monday, .tuesday, .wednesday, .thursday, .friday, .saturday, .sunday]
        return days.firstIndex(of: firstWeekday) ?? 0
    }

    // MARK: - Locales

    /// The locale with a name such as `de_DE`, `de-DE` or `de_DE.UTF-8`; `nil` if Foundation does not know the language or region.
    public static func locale(_ name: String) -> Locale? {
        let plain = String(name.prefix { $0 != "." && $0 != "@" }).replacing("-", with: "_")
        let parts = plain.split(separator: "_", omittingEmptySubsequences: false)
        guard let language = parts.first, (1...3).contains(parts.count), known.languages.contains(String(language))
        else { return nil }
        if parts.count > 1 {
            // The last part may be a script such as Hant.
            guard let last = parts.last, last.count == 4 || known.regions.contains(String(last)) else { return nil }
        }
        return Locale(identifier: plain)
    }

    private static let known = (
        languages: Set(Locale.LanguageCode.isoLanguageCodes.map(\.identifier)),
        regions: Set(Locale.Region.isoRegions.map(\.identifier))
    )

    /// The locale of this machine, from the environment variables that programs use; `nil` if they name no language.
    public static func machineLocale(_ environment: [String: String]) -> Locale? {
        ["LC_ALL", "LC_MEASUREMENT", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty }.flatMap(locale)
    }
}

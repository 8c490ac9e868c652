import PluginKit

/// The decision about one day of the hub.
enum DayDecision: Hashable, Sendable {
    case send(DayKey, ExistValue)
    /// Exist must never receive this day, for this reason.
    case never(String)
    /// The day has not begun in the user's time zone.
    case later
    /// The hub no longer has a value for this day.
    case gone(DayKey)
}

/// Decides which days are sent, from the settings and today's date.
struct DayPolicy: Sendable {
    let settings: ExistSettings
    /// Today's date in the time zone of the Exist user.
    let today: LocalDate

    /// The first day whose value is sent.
    var first: LocalDate { today.adding(days: 1 - settings.days) }

    /// The attribute and date that a record belongs to; nil if no attribute is filled from it.
    func key(of stored: StoredRecord) -> DayKey? {
        guard case .day(_, let type, let series, let date) = stored.record.identity else { return nil }
        return settings.attribute(of: type, series).map { DayKey(attribute: $0.name, date: date) }
    }

    func verdict(on stored: StoredRecord) -> DayDecision {
        switch stored.record {
        case .day(let day): return verdict(on: day, stored.canonical)
        case .retraction:
            return key(of: stored).map { .gone($0) } ?? .never("Exist is sent days of the setting attributes only")
        case .sample: return .never("Exist takes values of days, and this is not a day")
        }
    }

    private func verdict(on day: DayValue, _ canonical: StoredRecord.CanonicalValue?) -> DayDecision {
        guard let attribute = settings.attribute(of: day.type, day.series), let source = attribute.source else {
            return .never("the series \(day.series) of \(day.type) is not among the attributes that are sent")
        }
        if day.date > today { return .later }
        if day.date < first { return .never("it is before the \(settings.days) days that are sent (setting days)") }
        if let observed = day.observedOn {
            switch settings.carried {
            case .none: return .never("there was no measurement on that day (setting carried)")
            case .window where observed < first:
                return .never("it repeats a measurement from before the \(settings.days) days that are sent")
            case .window, .all: break
            }
        }
        do throws(ExistValue.ValueError) {
            let value = try ExistValue(
                canonical?.value ?? day.value, unit: canonical?.unit ?? day.unit, as: attribute, in: source.unit)
            return .send(DayKey(attribute: attribute.name, date: day.date), value)
        } catch {
            return .never("Exist's \(attribute.name) cannot have it: \(error.reason)")
        }
    }
}

/// The single value of a person, type and series on a calendar day, made by a derived source such as the gap-filler.
public struct DayValue: Hashable, Sendable {
    /// The derived source that made the value.
    public var source: Source
    /// Name or uid of the person.
    ///
    /// A day is made *from* records whose person is known, so its source names the person.
    public var person: String
    /// The measured type; always a quantity.
    public var type: TypeID
    /// The policy that made the value, such as `mean30`; each policy is a separate series.
    public var series: String
    /// The calendar day.
    public var date: LocalDate
    /// A finite number in `unit`.
    public var value: Double
    /// The unit as the source wrote it.
    public var unit: String
    /// How this day's value was obtained, such as `mean` or `carried`.
    public var method: String
    /// The day the value was observed on; differs from `date` if the value was carried over.
    public var observedOn: LocalDate?
    /// Days between `observedOn` and `date`.
    public var age: Int?
    /// The records that the value was made from.
    public var basis: [Provenance.Basis]
    /// IANA name of the zone that defines the start and end of the day.
    public var zone: String?
    /// Everything else the source knows, as in ``Sample/metadata``.
    public var metadata: JSONObject?
    /// Members this version of the protocol does not know, as in ``Sample/extra``.
    public var extra: JSONObject?

    /// Creates a day value without checking it.
    public init(
        source: Source, person: String, type: TypeID, series: String, date: LocalDate, value: Double, unit: String,
        method: String, observedOn: LocalDate? = nil, age: Int? = nil, basis: [Provenance.Basis] = [],
        zone: String? = nil, metadata: JSONObject? = nil, extra: JSONObject? = nil
    ) {
        self.source = source
        self.person = person
        self.type = type
        self.series = series
        self.date = date
        self.value = value
        self.unit = unit
        self.method = method
        self.observedOn = observedOn
        self.age = age
        self.basis = basis
        self.zone = zone
        self.metadata = metadata
        self.extra = extra
    }
}

extension DayValue {
    /// The kind of plugin that owns a series.
    ///
    /// In a name with a colon it is the part before the first colon. `kept.…` belongs to the hub, every other name to the gap-filler.
    public static func maker(ofSeries series: String) -> String {
        if let colon = series.firstIndex(of: ":") { return String(series[..<colon]) }
        return series.hasPrefix("kept.") ? "hub" : "gap-filler"
    }

    /// Why the source must not write this series, with the series that it may write; `nil` if it may.
    ///
    /// The answer does not depend on stored data. Otherwise one plugin could block another plugin's days, or find out which days exist.
    public var seriesFault: String? {
        let (maker, plugin) = (DayValue.maker(ofSeries: series), source.plugin)
        if maker == plugin { return nil }
        return "series: \"\(series.prefix(64))\" is a series of \(maker); \(plugin) names its own \"\(plugin):…\""
    }
}

/// The one value of a person, type and series on a calendar day, made by a derived source such as the gap-filler.
public struct DayValue: Hashable, Sendable {
    /// The derived source that made it.
    public var source: Source
    /// Name or uid of the person: a day is made *from* records whose person is known, so here the source names them.
    public var person: String
    /// What it measures; a quantity.
    public var type: TypeID
    /// The policy that made it, such as `mean30`; each policy is a series of its own.
    public var series: String
    /// The day.
    public var date: LocalDate
    /// A finite number in `unit`.
    public var value: Double
    /// The unit as the source wrote it.
    public var unit: String
    /// How this day's value came about, such as `mean` or `carried`.
    public var method: String
    /// The day the value was observed on; another than `date` when it was carried.
    public var observedOn: LocalDate?
    /// Days between `observedOn` and `date`.
    public var age: Int?
    /// The records it was made from.
    public var basis: [Provenance.Basis]
    /// IANA name of the zone the day was cut in.
    public var zone: String?
    /// Everything else the source knows, as in ``Sample/metadata``.
    public var metadata: JSONObject?
    /// Members this version of the protocol does not know, as in ``Sample/extra``.
    public var extra: JSONObject?

    /// A day value; nothing is checked.
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
    /// The plugin kind whose days a series is of: a name with a colon is of the kind before the first one, `kept.…` of the hub, and every
    /// other of the gap-filler.
    public static func maker(ofSeries series: String) -> String {
        if let colon = series.firstIndex(of: ":") { return String(series[..<colon]) }
        return series.hasPrefix("kept.") ? "hub" : "gap-filler"
    }

    /// Why its source cannot have a day of this series, and of which it can; `nil` where it can.
    ///
    /// It does not depend on what is stored: else one plugin could keep another from its days, or learn which there are.
    public var seriesFault: String? {
        let (maker, plugin) = (DayValue.maker(ofSeries: series), source.plugin)
        if maker == plugin { return nil }
        return "series: \"\(series.prefix(64))\" is a series of \(maker); \(plugin) names its own \"\(plugin):…\""
    }
}

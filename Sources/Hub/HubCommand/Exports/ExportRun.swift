import HealthExports
import HubClient
import HubWire
import Samples

/// One export: queries the hub, writes, and shows the progress.
struct ExportRun {
    let format: ExportFormat
    let door: DoorClient
    var filter: QueryRequest.Filter
    let withDays: Bool
    /// For the progress bar.
    let title: String
    /// The requested types; `nil` for all.
    var asked: [String]?
    var keepsNumbers = false
    var columns: [CSVColumn] = CSVColumn.exported

    init(format: ExportFormat, door: DoorClient, filter: QueryRequest.Filter, withDays: Bool, title: String) {
        (self.format, self.door, self.filter, self.withDays, self.title) = (format, door, filter, withDays, title)
    }

    /// Writes everything; the file has its final name when this returns.
    ///
    /// - Parameter now: the hub's clock.
    func write(to target: ExportTarget, at now: Timestamp) throws -> ExportSummary {
        let interruption = Interruption()
        var output = try output(target, at: now)
        var filter = filter
        if format.joinsCorrelations, let types = filter.types { filter.types = CorrelationJoin.completed(types) }
        if format == .gpx { filter.types = GPXExport.types.map(\.rawValue) }
        let stream = RecordStream(door: door, filter: filter, withDays: withDays)
        let bar = ProgressBar(title)
        let total = bar.isShown ? try stream.count() : 0
        let join = CorrelationJoin(asked: asked, keepsMembers: format == .appleXML, lookup: group)
        var routes = RouteJoin(lookup: group)
        var done: Int64 = 0
        try output.begin()
        try stream.read { run in
            try output.write(format == .gpx ? routes.joined(run) : format.joinsCorrelations ? join.joined(run) : run)
        } page: { count in
            guard !interruption.isOver else {
                throw Failure(.interrupted, "\(title): ended before it was done; nothing was left there")
            }
            done += Int64(count)
            bar.update(done, of: total)
        }
        try output.end()
        bar.end()
        try target.finish()
        return output.account
    }

    private func group(_ name: String, _ plugin: String) throws -> [StoredRecord] {
        var filter = QueryRequest.Filter()
        (filter.group, filter.sources) = (name, [plugin])
        return try door.records(QueryRequest(id: 0, filter: filter))
    }

    private func output(_ target: ExportTarget, at now: Timestamp) throws -> any ExportOutput {
        switch format {
        case .jsonLines: WrittenOutput(JSONLinesExport(keepsNumbers: keepsNumbers), target)
        case .csv: WrittenOutput(CSVExport(columns), target)
        case .sqlite: try DatabaseOutput(target, zones: try zones())
        case .fhir: WrittenOutput(FHIRBundleExport(), target)
        case .fhirLines: WrittenOutput(FHIRLinesExport(joinsCorrelations: true), target)
        case .openMHealth: WrittenOutput(DataPointExport(.openMHealth, created: now), target)
        case .ieee1752: WrittenOutput(DataPointExport(.ieee1752, created: now), target)
        case .gpx: WrittenOutput(GPXExport(), target)
        case .appleXML: WrittenOutput(AppleHealthExport(created: now, characteristics: try characteristics()), target)
        }
    }

    private func zones() throws -> [String: String] {
        let entries = try door.ask(.persons, as: [HubStatus.PersonStatus].self)
        return Dictionary(
            entries.compactMap { entry in entry.zone.map { (entry.name, $0) } }, uniquingKeysWith: { first, _ in first }
        )
    }

    /// The characteristics of the one person in the file.
    private func characteristics() throws -> [TypeID: String] {
        let people = try door.ask(.persons, as: [HubStatus.PersonStatus].self)
        let names = filter.persons ?? people.map(\.name)
        guard names.count == 1 else {
            throw Failure(
                .usage,
                "apple-xml is of one person: say --person, one of \(people.map(\.name).joined(separator: ", "))")
        }
        var known: [TypeID: String] = [:]
        for (type, fact) in people.first(where: { $0.name == names[0] })?.characteristics ?? [:] {
            if let id = try? TypeID(type) { known[id] = fact.value }
        }
        return known
    }
}

import HealthExports
import HubClient
import HubWire
import Samples

/// One export: asks the hub, writes, shows how far it has come.
struct ExportRun {
    let format: ExportFormat
    let door: DoorClient
    var filter: QueryRequest.Filter
    let withDays: Bool
    /// For the progress bar.
    let title: String
    var keepsNumbers = false
    var columns: [CSVColumn] = CSVColumn.exported

    init(format: ExportFormat, door: DoorClient, filter: QueryRequest.Filter, withDays: Bool, title: String) {
        (self.format, self.door, self.filter, self.withDays, self.title) = (format, door, filter, withDays, title)
    }

    /// Writes all of it; the target has its name when this returns.
    func write(to target: ExportTarget) throws -> ExportAccount {
        let interruption = Interruption()
        var writer = writer
        let stream = RecordStream(door: door, filter: filter, withDays: withDays)
        let bar = ProgressBar(title)
        let total = bar.isShown ? try stream.count() : 0
        var done: Int64 = 0
        try target.write { writer.begin(&$0) }
        try stream.read { run in
            try target.write { output in for item in run { writer.write(item, to: &output) } }
        } page: { count in
            guard !interruption.isOver else {
                throw Failure(.interrupted, "\(title): ended before it was done; nothing was left there")
            }
            done += Int64(count)
            bar.update(done, of: total)
        }
        try target.write { writer.end(&$0) }
        bar.end()
        try target.finish()
        return writer.account
    }

    private var writer: any ExportWriter {
        switch format {
        case .jsonLines: JSONLinesExport(keepsNumbers: keepsNumbers)
        case .csv: CSVExport(columns)
        }
    }
}

import Foundation

/// Measures the hub against its promises, each figure a median of alternating runs.
@main
struct Bench {
    let place: Place
    let only: String
    let runs: Int
    /// The number of records in the Apple Health export.
    let records: Int
    private(set) var rows: [Row] = []

    static func main() throws {
        let options = try Options(CommandLine.arguments.dropFirst())
        let place = try Place(
            hub: options["hub"] ?? ".build/release/hub", programs: options["programs"] ?? ".build/bench-programs",
            storeIngest: options["store-ingest"] ?? "Benchmarks/.build/release/store-ingest",
            data: options["data"] ?? ".build/bench-data")
        // Ctrl-C ends the started programs and removes their files.
        signal(SIGINT, SIG_IGN)
        let interruption = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global())
        interruption.setEventHandler {
            Child.stopAll()
            place.cleanUp()
            exit(130)
        }
        interruption.resume()
        defer { place.cleanUp() }

        var bench = Bench(
            place: place, only: options["only"] ?? "", runs: max(1, options["runs"].flatMap(Int.init) ?? 7),
            records: options["records"].flatMap(Int.init) ?? 2_500_000)
        for line in Machine.facts(place) { say(line) }
        say("settings  \(bench.runs) alternating runs each; medians; ratio = median of each run's own ratio\n")
        say(Table.head)
        try bench.measure()
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let file = URL(fileURLWithPath: options["json"] ?? ".build/bench.json")
        try encoder.encode(bench.rows).write(to: file)
        let broken = bench.rows.filter { $0.isMet == false }.map(\.name)
        let missing = bench.rows.filter { $0.value == nil || $0.promise != nil && $0.isMet == nil }.map(\.name)
        say("\n\(bench.rows.count) rows in \(file.path)")
        say(broken.isEmpty ? "all measured promises are met" : "missed: \(broken.joined(separator: ", "))")
        if !missing.isEmpty { say("not measured: \(missing.joined(separator: ", "))") }
    }

    private mutating func measure() throws {
        live()
        fanOut()
        durable()
        singles()
        batches()
        latency()
        fairness()
        replay()
        idle()
        ready()
        days()
        lateWeighIn()
        statistics()
        ingestOfPhones()
        central()
        web()
        appleHealth()
        firstRecord()
    }

    // MARK: - How

    func wants(_ names: String...) -> Bool { only.isEmpty || names.contains { $0.contains(only) } }

    mutating func add(_ row: Row) {
        guard only.isEmpty || row.name.contains(only) else { return }
        rows.append(row)
        say(Table.line(row))
    }

    /// Measures the hub and each peer in turn, `runs` times; after its first failure a peer is skipped and its error returned.
    func alternate(
        _ ours: () throws -> Double, _ peers: [() throws -> Double]
    ) throws -> (ours: [Double], peers: [Result<[Double], any Error>]) {
        var values: [Double] = []
        var others = peers.map { _ in Result<[Double], any Error>.success([]) }
        for _ in 0..<runs {
            values.append(try ours())
            for (index, peer) in peers.enumerated() {
                others[index] = others[index].flatMap { known in Result { known + [try peer()] } }
            }
        }
        return (values, others)
    }

    func row(
        _ name: String, _ unit: String, _ ours: [Double], _ peer: Result<[Double], any Error>,
        _ promise: Promise? = nil,
        note: String? = nil
    ) -> Row {
        switch peer {
        case .success(let theirs):
            let ratio = median(zip(ours, theirs).map { $0 / $1 })
            return Row(
                name: name, value: median(ours), unit: unit, peer: median(theirs), ratio: ratio, promise: promise?.text,
                isMet: promise?.isMet(ratio), note: note, runs: ours.count)
        case .failure(let error):
            return Row(
                name: name, value: median(ours), unit: unit, promise: promise?.text, note: "no peer: \(error)",
                runs: ours.count)
        }
    }

    /// A row of a figure that has no peer.
    func row(_ name: String, _ unit: String, _ ours: [Double], _ promise: Promise? = nil, note: String? = nil) -> Row {
        let value = median(ours)
        return Row(
            name: name, value: value, unit: unit, promise: promise?.text, isMet: promise?.isMet(value), note: note,
            runs: ours.count)
    }

    func failed(_ name: String, _ unit: String, _ error: any Error, _ promise: Promise? = nil) -> Row {
        Row(name: name, value: nil, unit: unit, promise: promise?.text, note: "\(error)", runs: 0)
    }
}

/// `--name value` pairs.
struct Options {
    private var values: [String: String] = [:]

    init(_ arguments: some Sequence<String>) throws {
        var name: String?
        for argument in arguments {
            if let given = name {
                values[given] = argument
                name = nil
            } else if argument.hasPrefix("--") {
                name = String(argument.dropFirst(2))
            } else {
                throw Trouble(
                    "\(argument): expected --hub, --programs, --store-ingest, --data, --json, --only, --runs or --records"
                )
            }
        }
    }

    subscript(name: String) -> String? { values[name] }
}

/// Prints a line without buffering, even if the output is a file.
func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

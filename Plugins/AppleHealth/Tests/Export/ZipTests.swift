import AppleExport
import Foundation
import HubProcess
import Platform
import Samples
import Testing

@Suite(.enabled(if: Need.python.isMet, "\(Need.python.reason)")) struct ZipTests {
    private func folder() throws -> TemporaryFolder {
        let scratch = try TemporaryFolder()
        let files = FileManager.default
        try scratch.write(Array(try Data(contentsOf: URL(filePath: try fixture("synthetic.xml")))), to: "main.xml")
        for (name, place) in [
            ("route_2026-02-10_6.37pm.gpx", "workout-routes"), ("ecg_2026-02-10.csv", "electrocardiograms"),
        ] {
            try files.createDirectory(atPath: "\(scratch.path)/\(place)", withIntermediateDirectories: true)
            try files.copyItem(atPath: try fixture(name), toPath: "\(scratch.path)/\(place)/\(name)")
        }
        try scratch.write(
            #"{"resourceType":"Observation","id":"obs-1","note":"Ärzte \"und\" andere"}"#,
            to: "clinical-records/Observation-00000000.json")
        return scratch
    }

    private static let root = "apple_health_export/"
    private static let all = """
        zip.writestr('__MACOSX/apple_health_export/._export.xml', b'x')
        zip.writestr('apple_health_export/export_cda.xml', b'<ClinicalDocument/>')
        zip.write('main.xml', 'apple_health_export/Exportación.xml')
        for folder in ['workout-routes', 'electrocardiograms', 'clinical-records']:
            for name in os.listdir(folder): zip.write(folder + '/' + name, 'apple_health_export/' + folder + '/' + name)
        """

    @Test
    func `A zip is read without unpacking it, with routes, electrocardiograms and clinical documents`() async throws {
        let scratch = try folder()
        let reading = try Reading(try await scratch.zip(Self.all))
        #expect(reading.rejections.isEmpty, "\(reading.rejections)")
        #expect(reading.account.isComplete && reading.count(.missingFile) == 0 && reading.count(.otherFile) == 0)
        let route = try #require(reading.samples("workoutRoute").first)
        #expect(route.group == reading.samples("workout").first { $0.workout?.duration == 1_890 }?.group)
        #expect(route.route?.count == 3)
        #expect(route.route?[2].latitude == 52.00001 && route.route?[0].altitude == 34.12)
        #expect(route.facts["appleSyncVersion"] as? Int == 2)
        let document = try #require(reading.samples("x.apple.clinicalDocument").first)
        guard case .other(let text) = document.value else {
            Issue.record("it has no text")
            return
        }
        #expect(text?.contains(#""id":"obs-1""#) == true && text?.contains("Ärzte") == true)
        let ecg = try #require(reading.samples("electrocardiogram").first)
        #expect(ecg.value == .other("Sinus Rhythm") && ecg.start.text == "2026-02-10T17:50:35Z")
        #expect(((ecg.facts["frequency"] as? [String: Any])?["value"] as? Double) == 511.422)
        #expect(reading.samples("x.apple.ecgVoltages").first?.value == .other("-265.868 -271.819 12 0.5"))
        #expect(!reading.groups.joined().contains { $0.contains("Test Person") })
    }

    @Test func `An entry is complete in pieces of any size, also if its last bytes unpack to many`() async throws {
        let scratch = try folder()
        let path = try await scratch.zip(
            """
            zip.writestr('run', 'x' * 376)
            zip.writestr('text', ('a line <b/>\\n' * 90)[:283])
            """)
        let archive = try ZipArchive(path)
        for entry in archive.entries {
            for size in 1...Int(entry.size) + 1 {
                let source = try archive.open(entry)
                var (buffer, bytes) = ([UInt8](repeating: 0, count: size), [UInt8]())
                while case let count = try buffer.withUnsafeMutableBytes({ try source.read(into: $0) }), count > 0 {
                    bytes += buffer.prefix(count)
                }
                #expect(bytes.count == entry.size && !source.hasWrongSum, "\(entry.name) in pieces of \(size)")
            }
        }
    }

    @Test func `An unpacked folder has the same content as the zip`() async throws {
        let scratch = try folder()
        let zip = try Reading(try await scratch.zip(Self.all))
        let unpacked = try Reading(scratch.path)
        #expect(unpacked.groups == zip.groups)
    }

    @Test(arguments: ["stored", "zip64", "descriptors"]) func `Every form of zip is read`(_ form: String) async throws {
        let scratch = try folder()
        let name = "apple_health_export/export.xml"
        let program =
            switch form {
            case "stored": "zip.write('main.xml', '\(name)', zipfile.ZIP_STORED)"
            case "zip64": "with zip.open('\(name)', 'w', force_zip64=True) as f: f.write(open('main.xml', 'rb').read())"
            default:
                """
                zip.close()
                class Stream:
                    def __init__(self, f): self.f = f
                    def write(self, b): return self.f.write(b)
                    def flush(self): pass
                    def close(self): pass
                zip = zipfile.ZipFile(Stream(open('export.zip', 'wb')), 'w', zipfile.ZIP_DEFLATED)
                zip.write('main.xml', '\(name)')
                """
            }
        let reading = try Reading(try await scratch.zip(program))
        #expect(reading.account.isComplete && reading.samples("weight").count == 3)
    }

    @Test func `The directory of zip64 with more entries than a plain one can have is read`() async throws {
        let scratch = try folder()
        let file = try await scratch.zip(
            "for n in range(66000): zip.writestr('apple_health_export/workout-routes/%d.txt' % n, b'')\nzip.write('main.xml', 'apple_health_export/export.xml')"
        )
        #expect(try Reading(file).account.isComplete)
    }

    @Test func `A zip that unpacks to more than it says ends there, and keeps what came before`() async throws {
        let scratch = try folder()
        let records = (0..<2_000).map { record(value: "\($0)") }.joined()
        try scratch.write(export(records), to: "main.xml")
        let file = try await scratch.zip("zip.write('main.xml', 'export.xml')")
        var bytes = try Data(contentsOf: URL(filePath: file))
        let directory = try #require(bytes.range(of: Data([0x50, 0x4B, 1, 2]))).lowerBound
        bytes.replaceSubrange((directory + 24)..<(directory + 28), with: [0, 0, 1, 0])
        try bytes.write(to: URL(filePath: file))
        let reading = try Reading(file)
        #expect(reading.account.fault?.contains("unpacks to more than 65536 bytes") == true)
        #expect(!reading.account.isComplete)
    }

    @Test func `Names in a zip are looked up in it and never become paths`() async throws {
        let scratch = try TemporaryFolder()
        try scratch.write(
            "<gpx><trk><trkseg><trkpt lat=\"1\" lon=\"2\"><time>2026-02-10T17:05:00Z</time></trkpt></trkseg></trk></gpx>",
            to: "secret.gpx")
        let workout = """
             <Workout workoutActivityType="HKWorkoutActivityTypeRunning" startDate="2026-02-10 18:05:00 +0100" endDate="2026-02-10 18:37:00 +0100">
              <WorkoutRoute><FileReference path="/../secret.gpx"/><FileReference path="\(scratch.path)/secret.gpx"/><FileReference path="/workout-routes/../../secret.gpx"/></WorkoutRoute>
             </Workout>
            """
        try scratch.write(export(workout), to: "in/export.xml")
        try scratch.write("a folder that a path could lead through", to: "in/workout-routes/note.txt")
        for path in [
            scratch.path + "/in",
            try await scratch.zip(
                "zip.write('in/export.xml', '../../export.xml')\nzip.write('secret.gpx', '../../../secret.gpx')"),
        ] {
            let reading = try Reading(path)
            #expect(reading.samples("workoutRoute").isEmpty && reading.count(.missingFile) == 3)
        }
    }

    @Test func `A zip that is truncated, empty or without an export gets an error that says so`() async throws {
        let scratch = try folder()
        let whole = try Data(contentsOf: URL(filePath: try await scratch.zip(Self.all)))
        let cut = try scratch.write(Array(whole.dropLast(40)), to: "cut.zip")
        #expect(
            #expect(throws: ExportError.self) { try Reading(cut) }?.message.contains("no directory at its end") == true)
        let empty = try await scratch.zip("pass", as: "empty.zip")
        #expect(
            #expect(throws: ExportError.self) { try Reading(empty) }?.message.contains(
                "export again and keep it unlocked") == true)
        let other = try await scratch.zip("zip.writestr('a.xml', '<html/>')", as: "other.zip")
        #expect(#expect(throws: ExportError.self) { try Reading(other) }?.code == .notAnExport)
    }

    @Test
    func `Whatever bytes of a zip are wrong, reading ends, and never with a record that was not there`() async throws {
        let scratch = try folder()
        let file = try await scratch.zip(Self.all)
        let whole = Array(try Data(contentsOf: URL(filePath: file)))
        let known = Set(try Reading(file).samples.map { "\($0.type) \($0.value)" })
        var random = SeededGenerator(seed: 17)
        var damaged = 0
        for _ in 0..<300 {
            var bytes = whole
            bytes[Int.random(in: 0..<bytes.count, using: &random)] ^= UInt8.random(in: 1...255, using: &random)
            let path = try scratch.write(bytes, to: "damaged.zip")
            guard let reading = try? Reading(path) else { continue }
            if reading.account.isComplete, reading.account.fault == nil, reading.count(.wrongSum) == 0,
                reading.count(.damagedFile) == 0, reading.count(.missingFile) == 0
            {
                #expect(reading.samples.allSatisfy { known.contains("\($0.type) \($0.value)") })
            } else {
                damaged += 1
            }
        }
        #expect(damaged > 30)
    }
}

import AppleExport
import Foundation
import HubProcess
import Samples
import Testing

/// The same sample in several exports is one record.
@Suite struct SameSampleTests {
    private func metadata(_ entries: [String: String]) -> String {
        entries.sorted { $0.key < $1.key }.map { "<MetadataEntry key=\"\($0.key)\" value=\"\($0.value)\"/>" }.joined()
    }

    private func synchronized(_ version: Int) -> String {
        metadata(["HKSyncIdentifier": "one", "HKSyncVersion": "\(version)"])
    }

    private func workout(_ activity: String, _ children: String) -> String {
        """
         <Workout workoutActivityType="HKWorkoutActivityType\(activity)" sourceName="W" startDate="2026-02-10 18:05:00 +0100" endDate="2026-02-10 18:37:00 +0100">
          \(children)
         </Workout>

        """
    }

    private func meal(_ value: String, _ children: String) -> String {
        let member = record("HKQuantityTypeIdentifierDietaryProtein", unit: "g", value: value)
        return """
             <Correlation type="HKCorrelationTypeIdentifierFood" sourceName="a" startDate="2026-02-10 08:00:00 +0100" endDate="2026-02-10 08:00:00 +0100">
              \(metadata(["HKFoodType": "Soup"]))\(children)\(member)
             </Correlation>

            """
    }

    private func keys(_ type: String, _ elements: [String]) throws -> Set<String> {
        return try Set(
            elements.map {
                let reading = try Reading(of: $0)
                #expect(reading.rejections.isEmpty, "\(reading.rejections)")
                let samples = reading.samples(type)
                return try #require(samples.first, "\(reading.samples.map(\.type))").key.text
            })
    }

    @Test func `A sample with a sync identifier is one record, whatever is corrected in it`() throws {
        let category = [(1, "Light"), (2, "Moderate")].map { version, value in
            record(
                "HKCategoryTypeIdentifierHeadache", unit: nil,
                value: "HKCategoryValueSeverity\(value == "Light" ? "Mild" : value)", children: synchronized(version))
        }
        #expect(try keys("headache", category).count == 1)
        let unknown = [(1, "1,5"), (2, "1,6")].map { version, value in
            record(
                "HKQuantityTypeIdentifierNotYetInvented", unit: "zork", value: value, children: synchronized(version))
        }
        #expect(try keys("HKQuantityTypeIdentifierNotYetInvented", unknown).count == 1)
        let element = [(1, "much"), (2, "more")].map { version, value in
            record(value: value, children: synchronized(version))
        }
        #expect(try keys("x.apple.exportElement", element).count == 1)
        #expect(
            try keys("workout", [workout("Running", synchronized(1)), workout("Walking", synchronized(2))]).count == 1)
        #expect(try keys("food", [meal("9", synchronized(1)), meal("10", synchronized(2))]).count == 1)
    }

    @Test
    func `A sample with a UUID of its source is one record, except that each value of a category is its own`() throws {
        let uuid = metadata(["HKExternalUUID": "u-1"])
        let element = ["much", "more"].map { record(value: $0, children: uuid) }
        #expect(try keys("x.apple.exportElement", element).count == 1)
        #expect(try keys("workout", [workout("Running", uuid), workout("Walking", uuid)]).count == 1)
        #expect(try keys("food", [meal("9", uuid), meal("10", uuid)]).count == 1)
        let stages = ["AsleepDeep", "AsleepREM"].map {
            record(
                "HKCategoryTypeIdentifierSleepAnalysis", unit: nil, value: "HKCategoryValueSleepAnalysis\($0)",
                children: uuid)
        }
        #expect(try keys("sleepAnalysis", stages).count == 2)
    }

    private static let route = """
        <gpx><trk><trkseg>\((10..<40).map {
            "<trkpt lat=\"52.\($0)\" lon=\"13.\($0)\"><ele>1</ele><time>2026-02-10T17:05:\($0)Z</time></trkpt>"
        }.joined())</trkseg></trk></gpx>
        """
    private static let reference =
        "<WorkoutRoute sourceName=\"W\" startDate=\"2026-02-10 18:05:00 +0100\" endDate=\"2026-02-10 18:37:00 +0100\"><FileReference path=\"/workout-routes/r1.gpx\"/></WorkoutRoute>"

    @Test func `The routes of a truncated export and of the complete one are the same records`() throws {
        let scratch = try TemporaryFolder()
        try scratch.write(Self.route, to: "workout-routes/r1.gpx")
        let whole = export(record() + workout("Running", Self.reference))
        try scratch.write(whole, to: "export.xml")
        let all = try Reading(scratch.path)
        #expect(all.samples("workoutRoute").count == 1 && all.count(.unnamedRoute) == 0)
        let known = Set(all.groups.joined())
        let first = try #require(whole.range(of: "<Workout ")).lowerBound.utf16Offset(in: whole)
        for cut in stride(from: first + 2, to: whole.utf8.count - 15, by: 31) {
            try scratch.write(Array(whole.utf8.prefix(cut)), to: "export.xml")
            let reading = try Reading(scratch.path)
            #expect(known.isSuperset(of: reading.groups.joined()), "\(cut)")
        }
        // Cut before any element names the route.
        try scratch.write(Array(whole.utf8.prefix(first + 20)), to: "export.xml")
        #expect(try Reading(scratch.path).count(.unnamedRoute) == 1)
        // The reference is lost in the middle, but the file is complete at its end.
        try scratch.write(whole.replacing("<WorkoutRoute s", with: "<WorkoutRou<te s"), to: "export.xml")
        #expect(try Reading(scratch.path).samples("workoutRoute").isEmpty)
        // No element names this route at all.
        try scratch.write(export(record()), to: "export.xml")
        #expect(try Reading(scratch.path).samples("workoutRoute").count == 1)
    }

    @Test func `Routes are read if their type is requested, with or without their workout`() throws {
        let scratch = try TemporaryFolder()
        try scratch.write(Self.route, to: "workout-routes/r1.gpx")
        try scratch.write(export(workout("Running", Self.reference)), to: "export.xml")
        let all = try Reading(scratch.path)
        func types(_ types: Set<TypeID>) throws -> Reading {
            try Reading(scratch.path, ExportOptions(filter: ExportFilter(types: types)))
        }
        let routes = try types([.workoutRoute])
        #expect(routes.samples.map(\.type) == [.workoutRoute])
        #expect(Set(all.groups.joined()).isSuperset(of: routes.groups.joined()))
        let workouts = try types([.workout])
        #expect(workouts.samples.map(\.type) == [.workout] && workouts.account.filtered == 1)
        #expect(try types([.stepCount]).samples.isEmpty)
    }

    @Test func `After a resume behind an element whose end was lost, the next element is not lost`() throws {
        let scratch = try TemporaryFolder()
        let open = meal("9", "").replacing("</Correlation>", with: "")
        let last = record("HKQuantityTypeIdentifierBodyMass", unit: "kg", value: "80")
        let file = try scratch.write(
            export(record() + open + workout("Running", "") + meal("8", "") + last), to: "export.xml")
        let all = try Set(Reading(file).groups.joined())
        for size in 1...4 {
            let reader = try ExportReader(file, scratch: scratch.path)
            var given: Set<String> = []
            while let batch = try reader.next(size) {
                given.formUnion(batch.groups.joined().map { String(decoding: $0, as: UTF8.self) })
                guard batch.offset < .max else { continue }
                let rest = try Reading(file, from: batch.offset)
                #expect(given.union(rest.groups.joined()) == all, "\(size), from byte \(batch.offset)")
            }
        }
    }
}

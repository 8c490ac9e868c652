import HealthText
import Foundation
import HubClient
import HubWire
import Samples
import Synchronization

/// A running demonstration: the scales, the observers, and the result.
struct DemoScene: Sendable {
    let plan: DemoPlan
    let directory: DemoDirectory
    /// Seconds of the simulated month per second of real time.
    let rate: Double
    let hub: DemoHub
    /// The HS5, which starts before the hub, because the connector needs its address.
    let network: ScaleProcess
    /// The destination of days; `nil` if there is none yet.
    let exist: ExistStandIn?
    let story: DemoStory
    let interruption: Interruption
    let page: DemoPage
    let witness = DemoObserver()

    /// The results to show at the end.
    struct End: Sendable {
        var account: DemoAccount
        /// All records in the store.
        var records: [StoredRecord]
        /// The output of `hub device`.
        var devices: [String]
        var calendar: DemoCalendar
    }

    /// How long the scales may take to connect.
    private static let patience = Duration.seconds(30)

    /// Plays the month on a running hub; ends early after an `interruption`.
    ///
    /// - Throws: ``Failure`` if a part of it cannot be started, or the hub does not answer.
    func play() async throws -> End {
        let looking = Task { [witness, hub, interruption] in
            do { try await blocking { try witness.run(hub.endpoints) } } catch {
                // Tasks waiting for observations must not wait for long.
                if !(error is OutputClosed) { Terminal.complain("\(error)") }
                interruption.release()
            }
        }
        let started = Mutex<[ScaleProcess]>([network])
        let result: Result<End, any Error>
        do { result = .success(try await play(started)) } catch { result = .failure(error) }
        witness.stop()
        await looking.value
        for scale in started.withLock(\.self) { await scale.end() }
        return try result.get()
    }

    private func play(_ started: borrowing Mutex<[ScaleProcess]>) async throws -> End {
        let calendar = DemoCalendar(rate: rate, showing: try await hub.status().time)
        try await importYear()
        let exporter = exist.map { DemoExporter(plan: plan, exist: $0, door: hub.endpoints.door, story: story) }
        async let loggedIn: Void? = exporter?.logIn(calendar)
        var scales = [DemoScale.hs5: network]
        for scale in [DemoScale.hs3, .hs4] {
            let process = try ScaleProcess(
                scale, link: ["--connect", directory.link(of: scale)], clock: calendar.clock, zone: DemoCalendar.zone)
            started.withLock { $0.append(process) }
            scales[scale] = process
        }
        try await waitForScales()
        _ = try await loggedIn
        let numbers = interruption.isOver ? [:] : try await createUsers()
        let players = DemoRunner(
            plan: plan, scales: scales, calendar: calendar, witness: witness, door: hub.endpoints.door,
            numbers: numbers,
            story: story)
        if await !play(players) {
            await story.say(["", "Ended early: every scale comes back and gives its stored weigh-ins."])
        }
        await players.settle()
        await story.end()
        let refused = scales.values.flatMap { $0.diary.value.refused }
        let records = try await records()
        var account = DemoAccount(plan, told: players.told, refused: refused, records: records)
        if let exporter { account.add(try await exporter.days(records, on: calendar)) }
        account.add(try await page.problems(hub, plan, records) + hub.status().problems)
        return End(
            account: account, records: records, devices: try await hub.lines(of: "device"), calendar: calendar)
    }

    // MARK: Days

    /// Gives the hub the notes of the year before, like the script of a page.
    private func importYear() async throws {
        struct Weight: Encodable {
            var type = "weight"
            var unit = "kg"
            var value: Double
            var start, key: String
            var subject: [String: String]
        }
        let (year, door) = (plan.year, hub.endpoints.door)
        try await blocking {
            var records = RawRecords()
            for reading in year.readings {
                let weight = Weight(
                    value: Double(reading.tenthsOfKilogram) / 10, start: DemoCalendar.timestamp(of: reading.time).text,
                    key: reading.time.local, subject: ["name": year.person])
                records.append(try JSON.line(weight).utf8)
            }
            let client = try DoorClient(endpoint: door, command: "demo", source: DemoYear.source)
            for case .rejected(_, let reason) in try client.give(records) {
                throw Failure(.fault, "the hub rejects records of the year before: \(reason)")
            }
        }
        let holes = DemoYear.holes.map { "\($0.count)" }
        await story.say([
            "\(year.person) has noted \(NumberText.count(year.readings.count, "weigh-in")) in the year before, with holes of "
                + "\(holes.dropLast().joined(separator: ", ")) and \(holes.last ?? "")",
            "days: a script has given them to the hub.",
        ])
    }

    // MARK: The month

    /// - Returns: whether the month has been completed.
    private func play(_ players: DemoRunner) async -> Bool {
        let playing = Task { [interruption] in
            await players.play()
            let isWhole = !Task.isCancelled
            interruption.release()
            return isWhole
        }
        let drawing = Task { [story, witness] in
            var last: String?
            while !Task.isCancelled {
                let shown = last
                await witness.seen.wait(upTo: .seconds(1)) { $0.passing != shown }
                last = witness.seen.value.passing
                await story.draw(last)
                // People do not read faster.
                try? await Task.sleep(for: .milliseconds(100))
            }
        }
        await interruption.wait()
        drawing.cancel()
        playing.cancel()
        await drawing.value
        return await playing.value
    }

    /// Returns when all scales are connected, or after an interruption.
    ///
    /// - Throws: ``HubExit/system`` if one of them does not connect in time.
    private func waitForScales() async throws {
        let end = ContinuousClock.now + Self.patience
        var missing = DemoScale.allCases
        while !missing.isEmpty, !interruption.isOver {
            guard ContinuousClock.now < end else {
                let names = missing.map(\.rawValue).joined(separator: ", ")
                throw Failure(.system, "\(names): not connected within 30 s; hub logs of \(directory.path)")
            }
            await witness.seen.wait(upTo: .seconds(1)) { [interruption, missing] seen in
                interruption.isOver || missing.allSatisfy { seen.sessions[$0] != nil }
            }
            // The HS5 starts before the hub: it may connect before the observer subscribes, which then misses the event.
            let devices = try await hub.status().devices.filter { $0.connected == true }.map(\.instance)
            missing.removeAll { witness.seen.value.sessions[$0] != nil || devices.contains($0.instance) }
        }
    }

    /// Creates the household on the HS5, like `hub device ihealth-hs5 users create`.
    ///
    /// - Returns: the scale's number of each person.
    private func createUsers() async throws -> [String: String] {
        struct Arguments: Encodable {
            var person: String
            var position: Int
        }
        struct User: Decodable { var serialNumber: UInt32 }
        var numbers: [String: String] = [:]
        for person in plan.household {
            let arguments = RawJSON(
                trusted: Array(try JSON.line(Arguments(person: person.name, position: person.slot)).utf8))
            let request = CommandRequest(
                id: 0, instance: DemoScale.hs5.instance, command: "users-create", arguments: arguments, deadline: 20_000
            )
            let door = hub.endpoints.door
            let outcome = try await blocking { try DoorClient(endpoint: door, command: "demo").call(request) }
            guard case .done(let result?) = outcome else {
                throw Failure(.system, "the HS5 does not take \(person.name) as a user: \(outcome)")
            }
            numbers[person.name] = "\(try JSON.answer(User.self, result).serialNumber)"
        }
        let names = plan.household.map(\.name).joined(separator: ", ")
        await story.say(["", "The HS5 has been given its users: \(names).", ""])
        return numbers
    }

    private func records() async throws -> [StoredRecord] {
        let door = hub.endpoints.door
        return try await blocking {
            var records: [StoredRecord] = []
            var reader = RecordReader()
            try DoorClient(endpoint: door, command: "demo").pages(QueryRequest(id: 0)) { page, _ in
                for record in page { records.append(try reader.record(record)) }
            }
            return records
        }
    }
}

import JSON
import Platform
import PluginKit

extension Central {
    private static let study = SettingDeclaration(
        "study", .string(TextRule(example: "heart")), help: "The study, as studies names it.", required: true)
    private static let person = SettingDeclaration(
        "person", .string(TextRule(example: "anna")), help: "Whose records, as hub.conf names them.", required: true)

    static let commands: [Command<Self>] = [
        Command(
            "enrol", help: "Joins a centre by the line from its desk; without it, shows how far the enrolment is.",
            arguments: [
                .init(
                    "invite", .string(TextRule(example: "central://db1,db2/central?invite=3fa9.Qm1v…")),
                    help: "The line; it works only once.")
            ]
        ) { plugin, call in try await plugin.parts(call.hub).enrol(call) },
        Command("studies", help: "Lists the studies that this hub may take part in, and the types they ask for.") {
            plugin, call in try await plugin.parts(call.hub).studies()
        },
        Command(
            "consent", help: "Says which records of a person go to a study from now on.",
            arguments: [
                study, person,
                .init(
                    "types", .list(of: .string(TextRule(example: "weight"))),
                    help: "Some of the types that the study asks for; all of them if not given.", default: .list([])),
                .init("since", .date, help: "The first day whose records go; today if not given."),
                .init("until", .date, help: "The last day; open if not given."),
            ], canDryRun: true
        ) { plugin, call in try await plugin.parts(call.hub).consent(call) },
        Command(
            "withdraw", help: "Ends a consent: nothing more leaves, and the study sees nothing of the person.",
            arguments: [
                study, person,
                .init(
                    "erase", .boolean, help: "Whether the centre erases records that only this consent covers.",
                    default: .boolean(false)),
            ], canDryRun: true
        ) { plugin, call in try await plugin.parts(call.hub).withdraw(call) },
        Command("consents", help: "Lists consents and withdrawals, and the progress of erasures.") {
            plugin, call in try await plugin.parts(call.hub).consents()
        },
    ]
}

/// The state of an enrolment.
struct EnrolmentReport: Encodable, Sendable {
    /// `waiting` or `enrolled`.
    var state: String
    var login: String?
    var note: String?
}

/// The extent of a consent, given or planned.
struct ConsentReport: Encodable, Sendable {
    var study: String
    var title: String
    /// The words that the person was shown and agrees to.
    var words: String
    var person: String
    var types: [String]
    var since: String
    var until: String?
    /// Number of records that the hub now has for it, by type.
    var records: [String: Int64]
    var note: String?
}

/// The result of a withdrawal.
struct WithdrawalReport: Encodable, Sendable {
    var study: String
    var person: String
    var withdrawn: Bool
    /// Whether the centre has received the withdrawal.
    var told: Bool
    /// The centre's number of the erasure.
    var erasure: Int64?
    var note: String?
}

/// One line of `consents`.
struct ConsentEntry: Encodable, Sendable {
    struct Erasure: Encodable, Sendable {
        var number: Int64
        /// `asked`, `done`, or `unknown` while the centre is unavailable.
        var state: String
        var done: String?
        /// Number of deleted rows.
        var rows: Int?
        /// When no file of the centre contained them any more.
        var files: String?
    }
    var study: String
    var person: String
    var types: [String]
    var since: String
    var until: String?
    var given: String
    var withdrawn: String?
    /// The name of the subscription in `hub status` and `hub trace`.
    var sink: String
    var told: Bool
    var refusal: String?
    var erasure: Erasure?
}

extension CentralParts {
    func enrol(_ call: CommandCall) async throws -> EnrolmentReport {
        if let line = call.arguments["invite"]?.string {
            guard let invitation = Invitation(line) else {
                throw CommandFailure(
                    "invitation", "expected the whole line of the desk, central://HOST,…/DATABASE?invite=ID.TOKEN")
            }
            try await enrolment.begin(invitation)
        }
        guard let identity = hub.identity else { throw CommandFailure("hub", "the hub is away") }
        do { try await enrolment.goOn(identity.id, patience: patience) } catch let failure as CentreError {
            throw CommandFailure("centre", failure.description)
        }
        await background.runDueWork()
        switch try await enrolment.state {
        case .notBegun: throw CommandFailure("invitation", Enrolment.next)
        case .waiting:
            return EnrolmentReport(
                state: "waiting",
                note: "the desk has to sign the certificate; this hub asks for it regularly, and then continues")
        case .enrolled(let login): return EnrolmentReport(state: "enrolled", login: login)
        }
    }

    func studies() async throws -> [Study] {
        try await asked {
            let answer = try await centre.call("studies", "SELECT central.studies_v1() AS answer", [])
            return (answer.list ?? []).compactMap { Study($0) }
        }
    }

    func consent(_ call: CommandCall) async throws -> ConsentReport {
        let (name, person) = try await subject(call)
        guard let study = try await studies().first(where: { $0.study == name }) else {
            throw CommandFailure("study", CentreError(refused: "study", doing: name).description)
        }
        let given = try call.arguments.texts("types")
        let types = given.isEmpty ? study.types : given
        let others = types.filter { !study.types.contains($0) }
        guard others.isEmpty else {
            throw CommandFailure(
                "types",
                "\(name) does not ask for \(others.joined(separator: ", ")); it asks for \(study.types.joined(separator: ", "))"
            )
        }
        let now = hub.clock.time
        // The person's own day, as for all days of a consent.
        let zone = hub.persons.first { $0.name == person.name }?.zone ?? "UTC"
        let today = LocalDay.of(now, sampleZone: nil, personZone: zone)?.text ?? String(now.text.prefix(10))
        let since = call.arguments["since"]?.string ?? today
        let until = call.arguments["until"]?.string
        guard until.map({ $0 >= since }) ?? true else { throw CommandFailure("until", "until is before since") }
        let before = try await book.find(name, person.uid)
        var report = ConsentReport(
            study: name, title: study.title, words: study.words, person: person.name, types: types, since: since,
            until: until, records: try await count(types, person.uid, since, until))
        guard !call.isDryRun else { return report }
        if let before, !before.isActive, !before.isTold { try await asked { try await centre.tell() } }
        try await book.put(
            Consent(
                study: name, person: person.uid, name: person.name, types: types, since: since, until: until,
                wordsDigest: Digests.sha256(study.words.utf8), ordinal: (before?.ordinal ?? 0) + 1, given: now.text))
        // Neither subscription delivers records that are retracted between the two, so compare.
        if before != nil { try await hub.state.set(BackgroundWork.compareKey, to: .integer(1)) }
        try await hub.renewWants()
        if let before { report.note = await forget(before) }
        try? await centre.tell()
        if let now = try await book.find(name, person.uid), !now.isTold {
            report.note = "the centre is away: it gets the consent and the records when it is back"
        } else if let refusal = try await book.find(name, person.uid)?.refusal {
            throw CommandFailure("centre", refusal)
        }
        await background.runDueWork()
        return report
    }

    func withdraw(_ call: CommandCall) async throws -> WithdrawalReport {
        let (study, person) = try await subject(call)
        guard let consent = try await book.find(study, person.uid) else {
            throw CommandFailure("consent", "\(person.name) has not agreed to give anything to \(study)")
        }
        let erases = try call.arguments.boolean("erase")
        var report = WithdrawalReport(study: study, person: person.name, withdrawn: consent.isActive, told: false)
        guard !call.isDryRun else { return report }
        // Save the withdrawal before all else: batches in progress check it again before they are sent.
        var withdrawn = consent
        withdrawn.withdrawn = consent.withdrawn ?? hub.clock.time.text
        (withdrawn.asksErasure, withdrawn.isTold) = (erases || consent.asksErasure, false)
        try await book.put(withdrawn)
        try await hub.renewWants()
        report.note = await forget(consent)
        do { try await centre.tell() } catch {
            report.note =
                "the centre cannot be reached now (\(error)); nothing leaves any more, and the centre gets the withdrawal when it is back"
        }
        let now = try await book.find(study, person.uid)
        (report.told, report.erasure) = (now?.isTold ?? false, now?.erasure)
        await background.runDueWork()
        return report
    }

    func consents() async throws -> [ConsentEntry] {
        var entries: [ConsentEntry] = []
        for consent in try await book.all() {
            var entry = ConsentEntry(
                study: consent.study, person: consent.name, types: consent.types, since: consent.since,
                until: consent.until, given: consent.given, withdrawn: consent.withdrawn,
                sink: "\(hub.instance)/\(consent.want)", told: consent.isTold, refusal: consent.refusal)
            if let number = consent.erasure { entry.erasure = await erasure(number) }
            entries.append(entry)
        }
        return entries
    }

    private func erasure(_ number: Int64) async -> ConsentEntry.Erasure {
        var erasure = ConsentEntry.Erasure(number: number, state: "unknown")
        guard
            let answer = try? await centre.call(
                "erasure", "SELECT central.erasure_v1($1) AS answer", ["\(number)"])
        else { return erasure }
        erasure.state = answer["state"]?.text ?? "unknown"
        (erasure.done, erasure.rows) = (answer["done"]?.text, answer["rows"]?.integer)
        erasure.files = answer["files"]?.text
        return erasure
    }

    // MARK: - Shared by several commands

    /// The study and the person of a call.
    private func subject(_ call: CommandCall) async throws -> (study: String, person: (name: String, uid: String)) {
        let (study, person) = (try call.arguments.text("study"), try call.arguments.text("person"))
        for entry in hub.persons {
            guard let uid = entry.profile?.uid, entry.name == person || uid == person else { continue }
            return (study, (entry.name, uid))
        }
        // A person removed from hub.conf can still withdraw.
        if let consent = try await book.all().first(where: { $0.name == person || $0.person == person }) {
            return (study, (consent.name, consent.person))
        }
        let names = hub.persons.map(\.name).joined(separator: ", ")
        throw CommandFailure(
            "person", "hub.conf has no person \(person) for this plugin; it has \(names.isEmpty ? "none" : names)")
    }

    private func count(_ types: [String], _ uid: String, _ since: String, _ until: String?) async throws -> [String:
        Int64]
    {
        var filter = QueryRequest.Filter()
        (filter.types, filter.persons, filter.kinds) = (
            types, [uid], QueryRequest.Kind.allCases.filter { $0 != .retraction }
        )
        filter.from = try? Timestamp(parsing: "\(since)T00:00:00Z")
        filter.to = until.flatMap { LocalDate($0) }.flatMap {
            try? Timestamp(parsing: "\($0.adding(days: 1).text)T00:00:00Z")
        }
        var counts = Dictionary(uniqueKeysWithValues: types.map { ($0, Int64(0)) })
        for source in try await hub.sources(filter) { counts[source.type, default: 0] += source.count }
        return counts
    }

    /// Has the hub forget the subscription of a consent that has ended.
    ///
    /// - Returns: the command for a person, if the hub does not allow this plugin to do it.
    private func forget(_ consent: Consent) async -> String? {
        let sink = "\(hub.instance)/\(consent.want)"
        if hub.ownerRights.contains(.forgetSink),
            (try? await hub.command("forget-sink", ["sink": .string(sink)])) != nil
        {
            return nil
        }
        return "hub forget-sink \(sink) has the hub forget the subscription that is over"
    }

    private func asked<Value>(_ body: () async throws -> Value) async throws -> Value {
        do { return try await body() } catch let failure as CentreError {
            throw CommandFailure("centre", failure.description)
        }
    }
}

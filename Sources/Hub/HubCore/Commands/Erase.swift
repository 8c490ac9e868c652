import HubStore
import HubWire
import Platform
import Samples

extension OwnCommands.Erase: CommandWork {
    func run(_ call: OwnCommandCall, on hub: Commands) async throws -> Result {
        if let numbers, numbers.isEmpty || numbers.count > OwnCommands.mostNumbers {
            throw OwnCommandFailure(problems: ["numbers: expected 1 to \(OwnCommands.mostNumbers) record numbers"])
        }
        if allow { return .records(try await allowAgain(call, hub)) }
        let selection = try selection(hub)
        let plan = try await hub.store.planErasure(of: selection) { call.progress($0, of: nil, "looking") }
        let path = hub.facts.storePath
        var result = Report(
            dryRun: call.isDryRun, records: plan.records, versions: plan.versions, bytes: plan.bytes,
            sinks: plan.sinks.map { SinkRecords(sink: "\($0)", records: $1) }.sorted { $0.sink < $1.sink },
            copies: StoreCopies.beside(path), unknown: plan.unknown)
        try await findBackups(plan, hub, &result)
        guard !call.isDryRun else { return .other(result) }
        result.records = try await hub.eraser.erase(
            selection, forgetting: forget.flatMap { hub.facts.knownName($0) }, removingCopies: !keep
        ) { call.progress($0, of: $1, "erasing") }
        if plan.records > 0 || forget != nil { checkCopies(of: path, &result) } else { result.copies = [] }
        // Again, to include backups that were begun before the records were gone.
        try await findBackups(plan, hub, &result)
        let faults = try await hub.store.erasureFaults()
        if faults.count > 0 {
            (result.failed, result.faults) = (faults.count, faults.first.map(ErasureFailure.init))
        }
        let waiting = try await hub.store.namedErasures()
        (result.named, result.waitingFor) = (waiting.records, waiting.sinks.map { "\($0)" })
        return .other(result)
    }

    /// Finds the backups that may contain records of the plan.
    @DoorActor private func findBackups(_ plan: ErasurePlan, _ hub: Commands, _ result: inout Report) async throws {
        guard plan.records > 0 || forget != nil else { return }
        // Every backup made since hub.conf named the person contains the name.
        let search = KnownBackup.Search(
            recordsFrom: forget == nil ? plan.first : 0, epoch: hub.store.epoch, hub: hub.store.hubID)
        let found = try await BackupLookup.found(search, of: hub.facts.storePath, within: .seconds(10))
        (result.backups, result.unseen) = (found.backups, found.unseen.isEmpty ? nil : found.unseen)
    }

    /// Reports the copies beside the store that are still there.
    ///
    /// The erasure has already removed the older copies unless `keep` is set; removing a remaining copy again gives the reason for the failure.
    private func checkCopies(of path: String, _ result: inout Report) {
        var left = StoreCopies.underWay(beside: path).map {
            Report.Left(path: $0, reason: "another program is writing it; it is removed when that ends")
        }
        if !keep {
            let stuck = StoreCopies.remove(of: path)
            result.copies.removeAll { copy in stuck.contains { $0.path == copy } }
            left += stuck.map { Report.Left(path: $0.path, reason: $0.reason) }
        }
        if !left.isEmpty { result.left = left }
    }

    @DoorActor private func allowAgain(_ call: OwnCommandCall, _ hub: Commands) async throws -> ManualAnswer {
        guard let numbers, !call.isDryRun, types ?? persons ?? sources == nil, from ?? to ?? forget == nil else {
            throw OwnCommandFailure(problems: ["allow: needs numbers; no other argument or dryRun can be given"])
        }
        return ManualAnswer(try await hub.store.allowAgain(numbers), others: [:], isDryRun: false)
    }

    // MARK: - Selection

    @DoorActor private func selection(_ hub: Commands) throws -> ErasureSelection {
        let hasFilter = types ?? persons ?? sources != nil || from ?? to != nil
        if let numbers {
            guard !hasFilter, forget == nil else {
                throw OwnCommandFailure(problems: ["numbers: cannot be combined with a filter"])
            }
            return .numbers(numbers)
        }
        var query = RecordQuery()
        if let forget {
            guard !hasFilter else { throw OwnCommandFailure(problems: ["forget: cannot be combined with a filter"]) }
            if let name = hub.facts.knownName(forget), hub.facts.persons.contains(where: { $0.name == name }) {
                throw OwnCommandFailure(
                    "person",
                    "forget: hub.conf names \"\(forget.prefix(64))\": remove [person.\(name)] from it, which also has the profile of the body, run hub apply, then repeat this command"
                )
            }
            query.persons = try known([forget], "forget", hub)
            return .matching(query)
        }
        guard hasFilter else {
            throw OwnCommandFailure(problems: [
                "numbers: expected record numbers, or a filter; without one, nothing is erased"
            ])
        }
        query.types = try types.map { try RecordQuery.types($0) }
        query.persons = try persons.map { try known($0, "persons", hub) }
        query.sources = sources.map(Set.init)
        query.setSpan(
            from: try from.map { try RecordQuery.time($0, "from") }, to: try to.map { try RecordQuery.time($0, "to") })
        return .matching(query)
    }

    @DoorActor private func known(_ names: [String], _ argument: String, _ hub: Commands) throws -> Set<
        RecordQuery.Owner
    > {
        Set(
            try names.map { name in
                if let known = hub.facts.knownName(name) { return .person(known) }
                let hint = nearestName(to: name, among: hub.facts.knownPersons.sorted()).map { "; did you mean \($0)?" }
                throw OwnCommandFailure(
                    "person", "\(argument): there is no person \"\(name.prefix(64))\"\(hint ?? "")")
            })
    }
}

extension RecordQuery {
    /// Parses the type names in a command's arguments.
    static func types(_ names: [String], _ registry: TypeRegistry = .standard) throws -> Set<TypeID> {
        Set(
            try names.map { name in
                if let type = registry.resolve(name)?.id { return type }
                let hint = registry.suggestion(for: name).map { "; did you mean \($0)?" } ?? ""
                guard let type = try? TypeID(name), type.form == .vendor || type.form == .healthConnect else {
                    throw OwnCommandFailure(problems: ["types: there is no type \"\(name.prefix(64))\"\(hint)"])
                }
                return type
            })
    }

    /// Parses a time in a command's arguments.
    static func time(_ text: String, _ argument: String) throws -> Timestamp {
        guard let time = try? Timestamp(parsing: text) else {
            throw OwnCommandFailure(problems: [
                "\(argument): expected a time with an offset, such as 2024-03-15T07:30:05+01:00"
            ])
        }
        return time
    }
}

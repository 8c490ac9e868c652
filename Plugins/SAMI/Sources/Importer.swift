import CloudClient
import Foundation
import PluginKit

/// Reads messages and gives their records to the hub.
///
/// A cursor for each device marks the time up to which messages were read. It moves after STORED, and only to times of the
/// service's messages, so a wrong clock on either side skips nothing. Each run looks back a while to find messages that arrive
/// late, and now and then reads everything again; repeated messages are harmless.
actor Importer {
    private let hub: PluginContext
    let settings: SAMISettings
    private let service: SAMIService
    private let account: RenewingServiceCalls
    private let catalog: Catalog
    private let wakeup: WakeSignal
    private var user: ServiceUser?
    private var known: [String: ServiceDevice] = [:]
    /// The time up to which a full read has come, by device.
    private var reached: [String: Int64] = [:]
    /// Types that the hub refuses, or that hub.conf does not let this plugin write.
    private var refused: Set<String> = []

    /// Messages dated up to two days ahead of our clock are read too, in milliseconds.
    private static let ahead: Int64 = 2 * 86_400_000

    init(_ hub: PluginContext, _ account: RenewingServiceCalls, _ wakeup: WakeSignal) {
        (self.hub, self.account, self.wakeup) = (hub, account, wakeup)
        (service, settings) = (account.service, account.service.settings)
        catalog = Catalog(account)
    }

    /// The end of the range to read, in milliseconds since 1970, from the later of the two clocks.
    private var end: Int64 { max(hub.clock.now() / 1_000, account.watch.now) + Self.ahead }

    // MARK: - The user and the devices

    /// The logged-in user; asked for once.
    func ownUser() async throws -> ServiceUser {
        if let user { return user }
        let found = try await catalog.user()
        user = found
        return found
    }

    /// The devices to read, without those that this plugin registered.
    func devices() async throws -> [ServiceDevice] {
        let user = try await ownUser()
        let all = try await catalog.devices(of: user.id)
        let read = all.filter { settings.reads($0) && !Post.isOwn($0, hub.instance) }
        known = Dictionary(read.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        for wanted in settings.devices where !all.contains(where: { $0.id == wanted || $0.name == wanted }) {
            hub.logger.warning("the account does not have a device of the settings", metadata: ["device": "\(wanted)"])
        }
        return read
    }

    // MARK: - Records

    private func samples(
        _ messages: [ServiceMessage], _ device: ServiceDevice, isCommand: Bool
    ) async throws -> [Sample] {
        let user = try await ownUser()
        let name = try await catalog.name(of: device.type)
        var samples: [Sample] = []
        var readers: [Int64?: MessageReader] = [:]
        for message in messages {
            let reader: MessageReader
            if let known = readers[message.manifest] {
                reader = known
            } else {
                let manifest = try await catalog.manifest(device.type, version: message.manifest)
                reader = MessageReader(
                    deviceType: name, manifest: manifest,
                    types: try await types(of: name, manifest, isCommand: isCommand),
                    source: hub.source(device: device.id, account: user.id), zone: settings.zone)
                readers[message.manifest] = reader
            }
            samples += reader.records(of: message)
        }
        return samples
    }

    /// The hub's types for the fields of a device type; declares missing ones.
    private func types(
        of deviceType: String, _ manifest: ServiceManifest, isCommand: Bool
    ) async throws -> [String: TypeDeclaration] {
        // Ask each time, because a later session may have fewer types.
        let known = await Self.byID(hub.declaredTypes)
        let missing = FieldTypes.declarations(deviceType, manifest).filter {
            known[$0.id] == nil && !refused.contains($0.id)
        }
        guard !missing.isEmpty else { return known }
        guard !isCommand else {
            // A declaration begins a new session, which would end the command.
            wakeup.wake()
            throw CommandFailure(
                "again", "a \(deviceType) has fields that are new to the hub; their types are being declared: try again"
            )
        }
        do {
            guard known.count + missing.count <= FieldTypes.bound else {
                throw CommandFailure("types", "more than \(FieldTypes.bound) fields would need their own types")
            }
            try await hub.declare(missing)
            let granted = await Self.byID(hub.declaredTypes)
            refused.formUnion(missing.map(\.id).filter { granted[$0] == nil })
            return granted
        } catch let error where (error as? GiveError)?.code != .stopping {
            // Values of undeclared fields are stored with the others that have no type.
            hub.logger.error("cannot declare the types of fields", metadata: ["reason": "\(error)"])
            refused.formUnion(missing.map(\.id))
        }
        return known
    }

    private static func byID(_ types: [TypeDeclaration]) -> [String: TypeDeclaration] {
        Dictionary(types.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Stores the records of messages with the hub; returns when it has them.
    /// - Returns: the number of new records.
    @discardableResult
    private func give(
        _ messages: [ServiceMessage], of device: ServiceDevice, isBackfill: Bool, isCommand: Bool
    ) async throws -> Int {
        let samples = try await samples(messages, device, isCommand: isCommand)
        guard !samples.isEmpty else { return 0 }
        var (stored, rejected) = (0, [String: Int]())
        for result in try await hub.store(samples, isBackfill: isBackfill) {
            switch result {
            case .stored: stored += 1
            case .duplicate: break
            case .rejected(let code, _): rejected["\(code)", default: 0] += 1
            }
        }
        for (code, count) in rejected {
            hub.logger.error(
                "the hub rejects records",
                metadata: ["code": "\(code)", "records": "\(count)", "device": "\(device.id)"])
        }
        return stored
    }

    /// Stores a message of the live stream.
    func take(_ message: ServiceMessage) async throws {
        if known[message.device] == nil { _ = try await devices() }
        // Ignore devices that are not read, and our own.
        guard let device = known[message.device] else { return }
        try await give([message], of: device, isBackfill: false, isCommand: false)
    }

    // MARK: - New messages

    /// Reads the new messages of every device.
    /// - Parameter isCommand: whether a command of the hub waits for it.
    /// - Returns: the number of new records.
    func importNew(isCommand: Bool = false) async throws -> Int {
        await catalog.forgetLatest()
        var stored = 0
        for device in try await devices() { stored += try await importNew(of: device, isCommand: isCommand) }
        return stored
    }

    private func importNew(of device: ServiceDevice, isCommand: Bool) async throws -> Int {
        // Declare types before the first message, so that a later command need not wait for it.
        _ = try await types(
            of: catalog.name(of: device.type), catalog.manifest(device.type, version: nil), isCommand: isCommand)
        let key = "cursor/\(device.id)"
        let begin = settings.since.map { $0 / 1_000 } ?? 0
        var stored = 0
        let known = try await hub.state.integer(key).map { max(0, $0) }
        if let known {
            stored += try await read(
                device, from: max(begin, known - settings.overlap), isBackfill: false, isCommand: isCommand
            ) { last, _ in
                try await self.hub.state.set(key, to: .integer(max(known, last)))
            }
        }
        guard try await isFullDue(device) else { return stored }
        // Start at the beginning, or resume an interrupted run.
        stored += try await readAll(device, from: begin, as: "full", isCommand: isCommand) { _, _ in }
        // If there was no cursor, later messages are not history.
        if known == nil { try await hub.state.set(key, to: .integer(reached[device.id] ?? 0)) }
        try await hub.state.set("full-at/\(device.id)", to: .integer(hub.clock.now() / 1_000))
        return stored
    }

    /// Whether to read everything again; also true after a clock was set back.
    private func isFullDue(_ device: ServiceDevice) async throws -> Bool {
        guard let last = try await hub.state.integer("full-at/\(device.id)") else { return true }
        return !(0..<settings.fullEvery).contains(hub.clock.now() / 1_000 - last)
    }

    /// Reads all messages from `start` on, page by page.
    /// - Parameter note: called when the hub has a page, with the time of its last message and the number of pages.
    private func read(
        _ device: ServiceDevice, from start: Int64, isBackfill: Bool, isCommand: Bool,
        _ note: (_ last: Int64, _ pages: Int) async throws -> Void
    ) async throws -> Int {
        var (stored, pages, cursors) = (0, 0, Set<String>())
        var cursor: String?
        // The same for all pages, because a cursor is valid only for its query.
        let end = end
        // Settings may give a day in the future.
        guard start <= end else { return 0 }
        repeat {
            try Task.checkCancellation()
            // A command is not retried, so make more attempts.
            let answer = try await account.call(
                service.messages(of: device.id, from: start, to: end, after: cursor), attempts: isCommand ? 6 : 3)
            let page = MessagePage(answer)
            stored += try await give(page.messages, of: device, isBackfill: isBackfill, isCommand: isCommand)
            pages += 1
            if let last = page.messages.map({ $0.reach(account.watch.now) }).max() { try await note(last, pages) }
            cursor = page.next
            if let cursor, !cursors.insert(cursor).inserted {
                throw CommandFailure("service", "the service sent the same cursor again; nothing is lost, try again")
            }
        } while cursor != nil
        return stored
    }

    // MARK: - History

    /// Reads a device's history from `start`; resumes an interrupted read with the same name and start.
    ///
    /// - Parameters:
    ///   - name: identifies the reader in the saved position.
    ///   - tell: called with the time reached, in milliseconds, and the number of pages read.
    private func readAll(
        _ device: ServiceDevice, from start: Int64, as name: String, isCommand: Bool, _ tell: (Int64, Int) -> Void
    ) async throws -> Int {
        let key = "\(name)/\(device.id)"
        let saved = try await hub.state.text(key)?.split(separator: " ").compactMap { Int64($0) } ?? []
        let begin = saved.count == 2 && saved[0] == start ? saved[1] : start
        reached[device.id] = min(begin, account.watch.now)
        let stored = try await read(device, from: begin, isBackfill: true, isCommand: isCommand) { last, pages in
            try await self.hub.state.set(key, to: .text("\(start) \(last)"))
            self.reached[device.id] = last
            tell(last, pages)
        }
        try await hub.state.set(key, to: nil)
        return stored
    }

    /// Reads the whole history, for a person who waits for it.
    func backfill(
        _ device: ServiceDevice, from start: Int64, _ tell: @Sendable (_ reached: Int64, _ pages: Int) -> Void
    ) async throws -> Int {
        try await readAll(device, from: start, as: "backfill", isCommand: true, tell)
    }

    /// The extent of a history, estimated from its first page because the service does not give the number of messages.
    struct ImportRange: Sendable {
        /// The time of the first message, in milliseconds since 1970.
        let start: Int64
        /// The time up to which there may be messages.
        let end: Int64
        /// The approximate number of calls.
        let calls: Int
        /// The duration of one call.
        let each: Duration
    }

    /// - Returns: nil if there is no message from `since` on.
    func outlook(of device: ServiceDevice, since: Int64) async throws -> ImportRange? {
        let began = ContinuousClock.now
        let page = MessagePage(
            try await account.call(service.messages(of: device.id, from: since, to: end, after: nil)))
        guard let first = page.messages.first?.time, let last = page.messages.last?.time else { return nil }
        let end = max(first + 1, account.watch.now)
        // Assume that the messages stay as dense as on the first page.
        let share = Double(max(1, last - first)) / Double(end - first)
        let calls = page.next == nil ? 1 : max(2, Int((1 / max(share, 1e-6)).rounded(.up)))
        return ImportRange(start: first, end: end, calls: calls, each: ContinuousClock.now - began)
    }
}

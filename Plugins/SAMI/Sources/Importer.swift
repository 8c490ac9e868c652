import CloudClient
import Foundation
import PluginKit

/// Reads messages and gives their records to the hub.
///
/// A cursor for each device says up to which time everything has been read; it moves after STORED. What was measured earlier
/// and arrives late is found by looking back a while each time: a repeat is harmless.
actor Importer {
    private let hub: PluginContext
    let settings: SAMISettings
    private let service: SAMIService
    private let account: Account
    private let catalog: Catalog
    private var user: ServiceUser?
    private var known: [String: ServiceDevice] = [:]

    /// Messages of a message's date that lies ahead of our clock are read too.
    private static let ahead: Int64 = 2 * 86_400_000

    init(_ hub: PluginContext, _ account: Account) {
        (self.hub, self.account) = (hub, account)
        (service, settings) = (account.service, account.service.settings)
        catalog = Catalog(account)
    }

    /// Milliseconds since 1970, by the hub's clock.
    private var now: Int64 { hub.clock.now() / 1_000 }

    // MARK: - Who and what

    /// Who is logged in; asked once.
    func whoever() async throws -> ServiceUser {
        if let user { return user }
        let found = try await catalog.user()
        user = found
        return found
    }

    /// The devices that are read: none that we registered ourselves.
    func devices() async throws -> [ServiceDevice] {
        let user = try await whoever()
        let all = try await catalog.devices(of: user.id)
        let read = all.filter { settings.reads($0) && !Post.isOwn($0, hub.instance) }
        known = Dictionary(read.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        for wanted in settings.devices where !all.contains(where: { $0.id == wanted || $0.name == wanted }) {
            hub.logger.warning("a device of the settings is not there", metadata: ["device": "\(wanted)"])
        }
        return read
    }

    // MARK: - Records

    private func samples(_ messages: [ServiceMessage], _ device: ServiceDevice) async throws -> [Sample] {
        let user = try await whoever()
        let name = try await catalog.name(of: device.type)
        var samples: [Sample] = []
        for message in messages {
            let manifest = try await catalog.manifest(device.type, version: message.manifest)
            let reader = MessageReader(
                deviceType: name, manifest: manifest, source: hub.source(device: device.id, account: user.id))
            samples += reader.records(of: message)
        }
        return samples
    }

    /// Gives the records of messages to the hub; returns when it has them.
    /// - Returns: how many were new.
    @discardableResult
    private func give(
        _ messages: [ServiceMessage], of device: ServiceDevice, isBackfill: Bool
    ) async throws -> Int {
        let samples = try await samples(messages, device)
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

    /// A message of the live stream.
    func take(_ message: ServiceMessage) async throws {
        if known[message.device] == nil { _ = try await devices() }
        // Of a device that is not read, or one of our own.
        guard let device = known[message.device] else { return }
        try await give([message], of: device, isBackfill: false)
    }

    // MARK: - New messages

    /// Reads of every device what has come since the last time.
    /// - Returns: how many records were new.
    func importNew() async throws -> Int {
        await catalog.forgetLatest()
        var stored = 0
        for device in try await devices() { stored += try await importNew(of: device) }
        return stored
    }

    private func importNew(of device: ServiceDevice) async throws -> Int {
        let began = now
        let key = "cursor/\(device.id)"
        let cursor = try await hub.state.integer(key)
        let begin = settings.since.map { $0 / 1_000 } ?? 0
        let start = max(begin, cursor.map { $0 - settings.overlap } ?? begin)
        let stored = try await read(device, from: start, to: began + Self.ahead, isBackfill: cursor == nil) { last in
            // A run that is killed goes on about here.
            try await self.hub.state.set(key, to: .integer(max(cursor ?? .min, min(last, began))))
        }
        try await hub.state.set(key, to: .integer(max(cursor ?? .min, began)))
        return stored
    }

    /// Reads a range page by page.
    /// - Parameter note: told the time of the last message of each page, when the hub has them.
    private func read(
        _ device: ServiceDevice, from start: Int64, to end: Int64, isBackfill: Bool,
        _ note: (Int64) async throws -> Void
    ) async throws -> Int {
        var (stored, cursors) = (0, Set<String>())
        var cursor: String?
        repeat {
            try Task.checkCancellation()
            let answer = try await account.call(
                service.messages(of: device.id, from: start, to: end, after: cursor))
            let page = MessagePage(answer)
            stored += try await give(page.messages, of: device, isBackfill: isBackfill)
            if let last = page.messages.last { try await note(last.time) }
            cursor = page.next
            if let cursor, !cursors.insert(cursor).inserted {
                throw CommandFailure("service", "the service gives the same cursor again; nothing is lost, try again")
            }
        } while cursor != nil
        return stored
    }

    // MARK: - History

    /// When a device's first message was measured; nil when it has none.
    func beginning(of device: ServiceDevice) async throws -> Int64? {
        var request = service.messages(of: device.id, from: 0, to: now + Self.ahead, after: nil)
        request.query = request.query.map { $0.name == "count" ? ("count", "1") : $0 }
        return MessagePage(try await account.call(request)).messages.first?.time
    }

    /// Reads a device's history from `start`; goes on where an earlier call of the same start was ended.
    ///
    /// - Parameter tell: told messages and the time they reach, in milliseconds.
    func backfill(
        _ device: ServiceDevice, from start: Int64, _ tell: @Sendable (Int64) -> Void
    ) async throws -> Int {
        let key = "backfill/\(device.id)"
        let saved = try await hub.state.text(key)?.split(separator: " ").compactMap { Int64($0) } ?? []
        let begin = saved.count == 2 && saved[0] == start ? saved[1] : start
        let stored = try await read(device, from: begin, to: now + Self.ahead, isBackfill: true) { last in
            try await self.hub.state.set(key, to: .text("\(start) \(last)"))
            tell(last)
        }
        try await hub.state.set(key, to: nil)
        return stored
    }
}

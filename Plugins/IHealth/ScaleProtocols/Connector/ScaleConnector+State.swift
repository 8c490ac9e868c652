import PluginKit

/// The data that a connector stores between runs, apart from the records themselves.
extension ScaleConnector {
    /// The key of the user whose measurement is open on a scale.
    private static func userKey(_ device: String) -> String { "openUser-\(device)" }
    /// The key of an earlier version, which served one scale.
    private static let oldUserKey = "openUser"

    /// The state key of the id of the scale that answered first.
    public static let deviceKey = "device"

    /// Reads the last unit and user sent to the scale, for settings that name none.
    ///
    /// The user must be known before the scale connects: the scale may still be sending a weighing that began before this program did.
    mutating func readOrders() async throws {
        do {
            let unit = try await hub.state.integer(ScaleSetup.unitKey).flatMap { UInt8(exactly: $0) }
            if setup.remembersUnit, let unit = unit.flatMap({ ScaleDisplayUnit(rawValue: $0) }) {
                _ = dialogue.handle(.command(.display(unit)), at: now)
            }
        } catch {
            throw PluginFailure(.state, "\(error)")
        }
        try await readOpenUser()
    }

    /// Reads the user whose measurement was open on the current scale.
    mutating func readOpenUser() async throws {
        scale.openUser = setup.measures
        guard setup.measures == nil, let device = scale.device else { return }
        do {
            let isFirst = try await hub.state.text(Self.deviceKey) == device
            let old = isFirst ? try await hub.state.integer(Self.oldUserKey) : nil
            let user = (try await hub.state.integer(Self.userKey(device)) ?? old).flatMap { UInt32(exactly: $0) }
            scale.openUser = user
            if let user { inputs.append(.command(.measure(serial: user), of: device)) }
        } catch {
            throw PluginFailure(.state, "\(error)")
        }
    }

    private struct Remembered: Sendable {
        var rule: String?
        var rows: [KnownWeighings.Row]
        /// Whether an earlier version had stored them in one value.
        var isOld: Bool
        var users: String?
    }

    mutating func readKnown() async throws {
        guard let device = scale.device else { return }
        let (oldKey, ruleKey) = ("weighings-\(device)", "rule-\(device)")
        do {
            let found = try await hub.state.transaction { state in
                let old = try state.bytes(oldKey)
                let rows = try state.keys(prefix: KnownWeighings.prefix(device)).compactMap { key in
                    try state.bytes(key).flatMap { KnownWeighings.Row($0) }
                }
                return Remembered(
                    rule: try state.text(ruleKey), rows: old.map { KnownWeighings.Row.list($0) } ?? rows,
                    isOld: old != nil, users: try state.text("users-\(device)"))
            }
            scale.known = KnownWeighings(rule: rule)
            scale.known.take(found.rows, under: found.rule)
            let list = found.users ?? ""
            scale.users = list.split(separator: ",", omittingEmptySubsequences: false).map { UInt32($0) }
            guard found.isOld else { return }
            var renewed = KnownWeighings(rule: rule)
            for row in found.rows { renewed.note(row.entry) }
            var changes = renewed.changes(of: device)
            changes.updateValue(nil, forKey: oldKey)
            let written = changes
            try await hub.state.transaction { state in
                for (key, value) in written { try state.set(key, to: value) }
            }
        } catch {
            throw PluginFailure(.state, "\(error)")
        }
    }

    /// Stores the first scale that answers as this plugin's scale.
    mutating func adopt(_ id: String) async throws {
        scale.device = id
        scale.reports.device = id
        do {
            try await hub.state.set(Self.deviceKey, to: .text(id))
        } catch {
            hub.logger.warning("the scale's id cannot be kept; it is asked for again next time: \(error)")
        }
        try await readKnown()
    }

    /// Stores the users and their positions, because records of the cloud also arrive while the scale sleeps.
    mutating func learn(_ list: [UInt32?]) async {
        guard scale.users != list else { return }
        scale.users = list
        guard let device = scale.device else { return }
        do {
            let text = list.map { $0.map(String.init) ?? "" }.joined(separator: ",")
            try await hub.state.set("users-\(device)", to: .text(text))
        } catch {
            hub.logger.warning("the users of the scale cannot be kept: \(error)")
        }
    }

    /// Opens the configured user's measurement or, without one, the only user's.
    mutating func openMeasurement() async {
        let present = scale.users.compactMap(\.self)
        let serial = setup.measures ?? (present.count == 1 ? present[0] : nil)
        scale.reports.slot = serial.flatMap { serial in scale.users.firstIndex { $0 == serial } }
        guard serial != scale.openUser else { return }
        scale.openUser = serial
        guard setup.measures == nil else { return }
        inputs.append(.command(.measure(serial: serial), of: scale.device))
        guard let device = scale.device else { return }
        do {
            let value = serial.map { StateValue.integer(Int64($0)) }
            try await hub.state.transaction { state in
                try state.set(Self.userKey(device), to: value)
                try state.set(Self.oldUserKey, to: nil)
            }
        } catch {
            hub.logger.warning("whose measurement is open cannot be kept: \(error)")
        }
    }
}

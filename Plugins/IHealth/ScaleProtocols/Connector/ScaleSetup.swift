public import FoundationEssentials
import FoundationInternationalization

/// The configuration of one scale, which its plugin has read from its settings.
public struct ScaleSetup: Sendable {
    public var model: ScaleModel
    public var link: ScaleLink
    /// `source.device` of the records: twelve upper-case hex digits; `nil` for the id that the scale reports.
    public var device: String?
    /// `nil` for the zone of the hub's persons, or the machine's.
    public var zone: TimeZone?
    /// Further settings that decide how a date is read; a change makes the connector correct the records of the memory.
    public var dating = ""
    public var muscleUnit = MuscleUnit.percent
    /// The user whose measurement is kept open, on a scale with users.
    public var measures: UInt32?
    public var verification: VerificationMode
    public var user: Verification.User
    /// The hub's person who measures; `nil` for any.
    public var person: String?
    /// The abilities of a person without the vendor's key, in two sentences; `nil` if no key is missing.
    public var keyNotice: String?
    /// Whether the unit set by a command applies, because the settings name none.
    public var remembersUnit = false
    /// The pause after a failed attempt to connect.
    public var pause = Duration.seconds(1)
    /// The dialogue with the scale of this id; `nil` for any scale that answers.
    public var dialogue: @Sendable (_ device: String?) -> any ScaleDialogue

    /// - Parameters:
    ///   - bridge: adds the model's own settings for the other end of an hsl link.
    ///   - dialogue: creates the dialogue for the scale's own frames; not called for an hsl link.
    public init(
        _ common: ScaleSettings, bridge: (inout HSLSession.Settings) -> Void = { _ in },
        dialogue: @escaping @Sendable (_ device: String?) -> any ScaleDialogue
    ) {
        var told = common.bridge
        bridge(&told)
        let settings = told
        (model, link, device, zone) = (common.model, common.link, common.device, common.zone)
        (verification, user, person) = (common.verification, common.user, common.person)
        // Serves all scales behind the link, unless the settings name one.
        let named = common.device
        let overBridge: @Sendable (String?) -> any ScaleDialogue = { _ in
            HSLSession(settings: settings, deviceId: named)
        }
        self.dialogue = common.link.isHSL ? overBridge : dialogue
    }

    /// The state key of the unit that a command has set, stored as the vendor's number.
    public static let unitKey = "unit"

    /// The clock for dates, and the name of its rule for ``KnownWeighings``.
    ///
    /// The machine's zone has the rule "machine": when a machine travels, earlier weighings keep their dates.
    public func clock(persons: [String?]) -> (clock: LocalClock, rule: String) {
        let zones = Set(persons)
        let shared = zones.count == 1 ? zones.first.flatMap(\.self) : nil
        let (zone, name): (TimeZone, String) =
            if let zone {
                (zone, zone.identifier)
            } else if let shared, let zone = TimeZone(identifier: shared) {
                (zone, zone.identifier)
            } else {
                (TimeZone.current, "machine")
            }
        return (LocalClock(zone), dating.isEmpty ? name : "\(name) \(dating)")
    }
}

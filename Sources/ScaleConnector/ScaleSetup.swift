public import FoundationEssentials
import FoundationInternationalization
public import ScaleProtocols
public import ScaleLinks

/// One scale and how it is served, as its plugin has read it from its settings.
public struct ScaleSetup: Sendable {
    public var model: ScaleModel
    public var link: ScaleLink
    /// `source.device` of the records: twelve upper-case hex digits; nil: what the scale says of itself.
    public var device: String?
    /// Nil: that of the hub's persons, or the machine's.
    public var zone: TimeZone?
    /// What beside the zone decides how a date is read; another one has the records of the memory corrected.
    public var dating = ""
    public var muscleUnit = MuscleUnit.percent
    /// The user whose measurement is held open, on a scale with users.
    public var measures: UInt32?
    public var verification: VerificationMode
    public var user: Verification.User
    /// The hub's person who measures; nil: any.
    public var person: String?
    /// What a person without the vendor's key can and cannot do, in two sentences; nil where no key is missing.
    public var keyNotice: String?
    /// Whether the unit that a command has set holds, because the settings name none.
    public var remembersUnit = false
    /// From a failed attempt to connect to the next.
    public var pause = Duration.seconds(1)
    /// The dialogue with the scale of this id; nil: with whichever answers.
    public var dialogue: @Sendable (_ device: String?) -> any ScaleDialogue

    /// - Parameters:
    ///   - bridge: what the other end of an hsl link is told beside what all models tell.
    ///   - dialogue: makes the one for the scale's own frames; on an hsl link it is not called.
    public init(
        _ common: ScaleSettings, bridge: (inout HSLSession.Settings) -> Void = { _ in },
        dialogue: @escaping @Sendable (_ device: String?) -> any ScaleDialogue
    ) {
        var told = common.bridge
        bridge(&told)
        let settings = told
        (model, link, device, zone) = (common.model, common.link, common.device, common.zone)
        (verification, user, person) = (common.verification, common.user, common.person)
        // All scales behind the link, unless the settings name one.
        let named = common.device
        let overBridge: @Sendable (String?) -> any ScaleDialogue = { _ in
            HSLDialogue(settings: settings, deviceId: named)
        }
        self.dialogue = common.link.isHSL ? overBridge : dialogue
    }

    /// Where the unit that a command has set is kept, as the vendor's number.
    public static let unitKey = "unit"

    /// The zone that holds, and what decided it, for ``KnownWeighings``.
    ///
    /// The machine's zone decides as "machine": when a machine travels, what was measured at home keeps its date.
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

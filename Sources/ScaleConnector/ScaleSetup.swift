public import FoundationEssentials
import FoundationInternationalization
public import ScaleFrames
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
    /// The hub's person who measures; nil: anybody.
    public var person: String?
    /// What a person without the vendor's key can and cannot do, in two sentences; nil where no key is missing.
    public var keyNotice: String?
    /// From a failed attempt to connect to the next.
    public var pause = Duration.seconds(1)
    /// The dialogue with the scale of this id; nil: with whichever answers.
    public var dialogue: @Sendable (_ device: String?) -> any ScaleDialogue

    public init(
        _ common: ScaleSettings, dialogue: @escaping @Sendable (_ device: String?) -> any ScaleDialogue
    ) {
        (model, link, device, zone) = (common.model, common.link, common.device, common.zone)
        (verification, user, person) = (common.verification, common.user, common.person)
        self.dialogue = dialogue
    }

    /// The zone that holds, and what decided it, for ``KnownWeighings``.
    ///
    /// The machine's zone decides as "machine": when a machine travels, what was measured at home is not dated anew.
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

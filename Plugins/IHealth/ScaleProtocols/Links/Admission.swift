/// Decides which guests are let in at a listening link, if several may connect.
///
/// Without an admission, the first guest that dials is let in, and the next one when that link has ended. The methods are called on the link's
/// thread only, one call after the other, and must not block.
public protocol Admission: Sendable {
    /// When to call with ``AdmissionEvent/tick``; `nil` if there is no deadline.
    var deadline: ContinuousClock.Instant? { get }

    /// Handles an event and returns the resulting orders, in order.
    func handle(_ event: AdmissionEvent, at now: ContinuousClock.Instant) -> [AdmissionAction]
}

/// An event at the door; each guest has a unique number.
public enum AdmissionEvent: Sendable, Hashable {
    /// A guest has dialled; `from` is the numeric address of its machine, if it has one.
    case came(Int, from: String?)
    /// Bytes of a guest, split at any position.
    case said(Int, [UInt8])
    /// A guest has hung up, or does not accept bytes.
    case left(Int)
    /// The link now belongs to this guest.
    case entered(Int)
    /// This guest is declined, because the other end of the open link is alive.
    case declined(Int)
    case tick
}

/// An order of an admission.
public enum AdmissionAction: Sendable, Hashable {
    /// Send these bytes to a guest.
    case say(Int, [UInt8])
    /// Disconnect a guest.
    case dismiss(Int)
    /// Let this guest in as soon as no link is open; it replaces another waiting guest.
    case admit(Int)
    /// Notify the owner with ``LinkRunner/Event/remark(_:)``.
    case remark(String)
}

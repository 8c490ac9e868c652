/// Decides who of those that dial is let in, where a link is awaited and several may stand at the door.
///
/// Without one, the first that dials is let in, and the next when that link has ended. It is called on the link's thread alone, one call after
/// the other, and must not block.
public protocol Admission: Sendable {
    /// When to come with ``DoorEvent/tick``; nil where nothing is waited for.
    var deadline: ContinuousClock.Instant? { get }

    /// Takes what has happened and returns what to do about it, in order.
    func handle(_ event: DoorEvent, at now: ContinuousClock.Instant) -> [DoorOrder]
}

/// What happens at the door; guests are told apart by a number that no other one gets.
public enum DoorEvent: Sendable, Hashable {
    /// A guest has dialled; the numeric address of its machine, where it has one.
    case came(Int, from: String?)
    /// Bytes of a guest, cut anywhere.
    case said(Int, [UInt8])
    /// A guest has hung up, or takes no bytes.
    case left(Int)
    /// The link is this guest's now.
    case entered(Int)
    /// This guest may not come in: the other end of the open link has just been heard.
    case declined(Int)
    case tick
}

/// What an admission wants done.
public enum DoorOrder: Sendable, Hashable {
    /// Send these bytes to a guest.
    case say(Int, [UInt8])
    /// Hang up on a guest.
    case dismiss(Int)
    /// Let this guest in as soon as no link is open, in place of one who waits for that.
    case admit(Int)
    /// Tell the owner, by ``LinkRunner/Event/remark(_:)``.
    case remark(String)
}

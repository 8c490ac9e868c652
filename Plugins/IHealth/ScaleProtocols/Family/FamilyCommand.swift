/// A command byte of HS4, HS4S and HS5 (layout B).
///
/// Known from the vendor's software; there is no published capture.
public enum FamilyCommand: UInt8, Sendable, Hashable, CaseIterable {
    /// HS5, both: the numbers of the users by position; the host's message sets the clock.
    case users = 0x31
    /// Host: open a measurement.
    ///
    /// Scale: accepted or refused.
    case measure = 0x32
    /// Host: open the memory, on a HS5 that of a user, and set the clock.
    ///
    /// Scale: ready or not.
    case openMemory = 0x33
    /// Scale: an error.
    ///
    /// Host: received.
    case error = 0x34
    /// Scale: an unsettled weight.
    case unstableWeight = 0x35
    /// Scale: the weight.
    ///
    /// Host: received.
    case stableWeight = 0x36
    /// HS5: the weight during the impedance measurement.
    ///
    /// Host: received.
    case impedanceWeight = 0x37
    /// HS5: the body composition.
    ///
    /// Host: received.
    case composition = 0x38
    /// Host: stop the current activity, on a HS5 also: received.
    ///
    /// Scale: idle (HS4), the measurement is over (HS5).
    case end = 0x39
    /// Both: the number of records.
    case memorySummary = 0x41
    /// Both: the next record (HS4), the next packet of records (HS5).
    case memoryRecords = 0x42
    /// HS5, both: create a user.
    case createUser = 0x51
    /// HS5, both: delete a user.
    case deleteUser = 0x52
    /// HS5, both: change a user.
    case modifyUser = 0x54
    /// HS5, both: the host name of the vendor's cloud.
    case cloudHost = 0x59
    /// HS5, both: its path.
    case cloudPath = 0x5A
    /// HS5, host, by broadcast: search for scales.
    case search = 0xD0
    /// HS5: busy with its cloud.
    case busy = 0xEF
    /// Scale: its identity.
    ///
    /// HS4, host: received.
    case identity = 0xF0
    /// HS4, host: request the identity.
    case identify = 0xF1
    /// Host: a nonce, the first step of the log-in.
    case logInNonce = 0xFA
    /// Scale: a challenge.
    case logInChallenge = 0xFB
    /// Host: the answer.
    case logInAnswer = 0xFC
    /// Scale: accepted.
    case logInAccepted = 0xFD
    /// Scale: refused.
    case logInRefused = 0xFE
    /// Scale: begin the log-in again.
    case logInAgain = 0xFF
}

/// The scale's messages in the log-in that HS4 and HS5 share.
public enum LogInMessage: Sendable, Hashable {
    case challenge([UInt8])
    case accepted
    case refused
    /// Begin again at the first step.
    case again

    /// Reads a message; `nil` if it is not of the log-in.
    init?(_ message: FamilyMessage) {
        switch FamilyCommand(rawValue: message.command) {
        case .logInChallenge: self = .challenge(message.data)
        case .logInAccepted: self = .accepted
        case .logInRefused: self = .refused
        case .logInAgain: self = .again
        default: return nil
        }
    }
}
